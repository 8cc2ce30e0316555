import { expect, test } from 'bun:test'
import { DirectoryUnavailable } from '../../../server/core/cluster/cells'
import { DirectoryCompleteness } from '../../../server/core/cluster/directory-completeness'

test('each other cell is asked until it has confirmed once, once for all who wait, and never again', async () => {
  const asked: string[] = []
  const down = new Set(['c3'])
  let now = 0
  const ask = async (cell: string) => {
    asked.push(cell)
    if (down.has(cell)) throw new Error('away')
  }
  const directory = new DirectoryCompleteness({ others: ['c2', 'c3'], ask, monotonic: () => now, witness: null })
  const refused = await Promise.allSettled([directory.confirm(), directory.confirm(), directory.confirm()])
  for (const each of refused) expect(each).toMatchObject({ reason: { unavailable: true } })
  expect(asked).toEqual(['c2', 'c3'])
  // Nobody asks again at once: anybody can make keys up.
  expect(await directory.confirm().catch((error: unknown) => error)).toBeInstanceOf(DirectoryUnavailable)
  expect(asked).toHaveLength(2)
  now += 1_000
  down.clear()
  await directory.confirm()
  await directory.confirm()
  expect(asked).toEqual(['c2', 'c3', 'c3'])
})

test('a witness confirms for a cell that does not answer, until the control database loses something', async () => {
  const asked: string[] = []
  const ask = async (cell: string) => {
    asked.push(cell)
    if (cell === 'c3') throw new Error('away')
  }
  const witness = { since: {}, isSure: false, vouches: async () => witness.isSure }
  let now = 0
  const directory = new DirectoryCompleteness({ others: ['c2', 'c3'], ask, monotonic: () => now, witness })
  await expect(directory.confirm()).rejects.toThrow('c3 did not confirm that the directory is complete: away')
  now += 1_000
  witness.isSure = true
  await directory.confirm()
  await directory.confirm()
  // Who answers is asked all the same.
  expect(asked).toEqual(['c2', 'c3', 'c3'])
  Object.assign(witness, { since: {}, isSure: false })
  await expect(directory.confirm()).rejects.toBeInstanceOf(DirectoryUnavailable)
  expect(asked).toEqual(['c2', 'c3', 'c3', 'c2', 'c3'])
})

test('a loss of the control database makes those who wait wait for all cells again', async () => {
  const answers: (() => void)[] = []
  const ask = () => new Promise<void>((resolve) => answers.push(resolve))
  const witness = { since: {}, vouches: async () => false }
  const directory = new DirectoryCompleteness({ others: ['c2'], ask, monotonic: () => 0, witness })
  const ended: string[] = []
  const waiting = [directory.confirm().then(() => ended.push('first'))]
  witness.since = {}
  waiting.push(directory.confirm().then(() => ended.push('second')))
  for (const answer of [0, 1]) {
    expect(ended).toEqual([])
    answers[answer]?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(waiting)
  expect(answers).toHaveLength(2)
})
