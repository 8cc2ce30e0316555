import { expect, test } from 'bun:test'
import { heldOpen } from '../../server/http/middleware/response/held-open'

/** Whether a connection may be silent. */
function connection() {
  const states: boolean[] = []
  return { states, allowSilence: () => states.push(true), awaitReader: () => states.push(false) }
}

const textOf = async (reader: ReadableStreamDefaultReader<Uint8Array>) =>
  new TextDecoder().decode((await reader.read()).value)

test('a record that takes longer than a beat begins with a space each, and is JSON once it is there', async () => {
  const record = Promise.withResolvers<{ problems: number }>()
  const watched = connection()
  const answer = (await heldOpen(watched, record.promise, 1)) as Response
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
  const reader = answer.body?.getReader() as ReadableStreamDefaultReader<Uint8Array>
  let text = ''
  for (let beats = 0; beats < 5; beats++) text += await textOf(reader)
  expect(text).toBe('     ')
  record.resolve({ problems: 2 })
  for (let part = ' '; part !== ''; text += part) part = await textOf(reader)
  expect(JSON.parse(text)).toEqual({ problems: 2 })
  expect(watched.states.at(0)).toBe(true)
  expect(watched.states.at(-1)).toBe(false)
})

test('a record that is there at once is given as it is, and what fails at once throws', async () => {
  const watched = connection()
  expect(await heldOpen(watched, Promise.resolve({ problems: 0 }))).toEqual({ problems: 0 })
  await expect(heldOpen(watched, Promise.reject(new Error('no database')))).rejects.toThrow('no database')
})

test('a failure after the first beat breaks the answer off', async () => {
  const record = Promise.withResolvers<object>()
  const answer = (await heldOpen(connection(), record.promise, 1)) as Response
  record.reject(new Error('no database'))
  await expect(answer.text()).rejects.toThrow('no database')
})
