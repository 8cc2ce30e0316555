import { expect, test } from 'bun:test'
import { DirectoryUnavailable } from '../../../server/core/cluster/cells'
import { ToldCells } from '../../../server/core/cluster/told-cells'

test('each other cell is asked until it has told once, together for all who wait, and never again', async () => {
  const asked: string[] = []
  const down = new Set(['c3'])
  let now = 0
  const ask = async (cell: string) => {
    asked.push(cell)
    if (down.has(cell)) throw new Error('away')
  }
  const told = new ToldCells({ others: ['c2', 'c3'], ask, monotonic: () => now, witness: null })
  const refused = await Promise.allSettled([told.all(), told.all(), told.all()])
  for (const each of refused) expect(each).toMatchObject({ reason: { unavailable: true } })
  expect(asked).toEqual(['c2', 'c3'])
  // Nobody asks again at once: anybody can make keys up.
  expect(await told.all().catch((error: unknown) => error)).toBeInstanceOf(DirectoryUnavailable)
  expect(asked).toHaveLength(2)
  now += 1_000
  down.clear()
  await told.all()
  await told.all()
  expect(asked).toEqual(['c2', 'c3', 'c3'])
})

test('a cell that does not answer is vouched for by a witness, until the control database loses something', async () => {
  const asked: string[] = []
  const ask = async (cell: string) => {
    asked.push(cell)
    if (cell === 'c3') throw new Error('away')
  }
  const witness = { since: {}, isSure: false, vouches: async () => witness.isSure }
  let now = 0
  const told = new ToldCells({ others: ['c2', 'c3'], ask, monotonic: () => now, witness })
  await expect(told.all()).rejects.toThrow('c3 did not say what the directory lacks: away')
  now += 1_000
  witness.isSure = true
  await told.all()
  await told.all()
  // Who answers is asked all the same.
  expect(asked).toEqual(['c2', 'c3', 'c3'])
  Object.assign(witness, { since: {}, isSure: false })
  await expect(told.all()).rejects.toBeInstanceOf(DirectoryUnavailable)
  expect(asked).toEqual(['c2', 'c3', 'c3', 'c2', 'c3'])
})

test('whoever waits while the control database loses something waits for all cells to tell once more', async () => {
  const answers: (() => void)[] = []
  const ask = () => new Promise<void>((resolve) => answers.push(resolve))
  const witness = { since: {}, vouches: async () => false }
  const told = new ToldCells({ others: ['c2'], ask, monotonic: () => 0, witness })
  const ended: string[] = []
  const waiting = [told.all().then(() => ended.push('first'))]
  witness.since = {}
  waiting.push(told.all().then(() => ended.push('second')))
  for (const answer of [0, 1]) {
    expect(ended).toEqual([])
    answers[answer]?.()
    await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(waiting)
  expect(answers).toHaveLength(2)
})
