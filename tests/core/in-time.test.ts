import { expect, spyOn, test } from 'bun:test'
import { inTime, inTimeOrNull } from '../../server/core/in-time'

const late = () => new Error('late')

test('work that is in time ends as it does, with its value or its error', async () => {
  expect(await inTime(Promise.resolve(7), 60_000, late)).toBe(7)
  await expect(inTime(Promise.reject(new Error('no')), 60_000, late)).rejects.toThrow('no')
})

test('work that is late is given up, and goes on', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  await expect(inTime(promise, 1, late)).rejects.toThrow('late')
  resolve()
  await promise
})

test('work that fails or is late gives null, where both come to the same', async () => {
  expect(await inTimeOrNull(Promise.resolve(1), 60_000)).toBe(1)
  expect(await inTimeOrNull(Promise.reject(new Error('no')), 60_000)).toBeNull()
  expect(await inTimeOrNull(Promise.withResolvers<number>().promise, 1)).toBeNull()
})

test('no timer is left, however the work ends', async () => {
  const [set, clear] = [spyOn(globalThis, 'setTimeout'), spyOn(globalThis, 'clearTimeout')]
  try {
    await inTime(Promise.resolve(), 60_000, late)
    await inTime(Promise.reject(new Error('no')), 60_000, late).catch(() => undefined)
    expect<unknown>(clear.mock.calls.map(([timer]) => timer)).toEqual(set.mock.results.map(({ value }) => value))
    expect(set).toHaveBeenCalledTimes(2)
  } finally {
    set.mockRestore()
    clear.mockRestore()
  }
})
