import { expect, test } from 'bun:test'
import { csvStream } from '../../server/http/middleware/response/csv'

/** A connection that notes whose turn it is. */
function noted() {
  const turns: string[] = []
  return {
    turns,
    allowSilence: () => void turns.push('ours'),
    awaitReader: () => void turns.push('the reader'),
  }
}

test('a download may be silent while its rows are read, and not while it waits for its reader', async () => {
  const connection = noted()
  const turnsWithin: string[] = []
  async function* lines() {
    for (const line of ['1\r\n', '2\r\n']) {
      turnsWithin.push(connection.turns.at(-1) ?? '')
      yield line
    }
  }
  expect(await csvStream(connection, 'a.csv', ['n'], lines()).text()).toBe('n\r\n1\r\n2\r\n')
  expect(turnsWithin).toEqual(['ours', 'ours'])
  expect(connection.turns).toEqual(['ours', 'the reader', 'ours', 'the reader', 'ours', 'the reader'])
})

test('a download whose rows cannot be read breaks off, and its connection waits no longer', async () => {
  const connection = noted()
  async function* lines(): AsyncGenerator<string, void> {
    yield '1\r\n'
    throw new Error('the database is gone')
  }
  await expect(csvStream(connection, 'a.csv', ['n'], lines()).text()).rejects.toThrow('gone')
  expect(connection.turns.at(-1)).toBe('the reader')
})
