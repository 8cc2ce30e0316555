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
  const told = new ToldCells(['c2', 'c3'], ask, () => now)
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
