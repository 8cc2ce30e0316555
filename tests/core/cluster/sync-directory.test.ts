import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { type DirectoryPart, type DirectoryRecord, syncDirectory } from '../../../server/core/cluster/sync-directory'

/** The rows of a cell in the order of their commits, in pages of few rows. */
function world(names: readonly string[], held: Map<string, string>, most = Number.POSITIVE_INFINITY) {
  let [reads, adds] = [0, 0]
  const rows = names.map((name) => ({ name, shown: `shown ${name}`, keepUntil: null }))
  const contents = {
    async newest(before: DirectoryRecord | null, limit: number) {
      reads++
      const end = before === null ? rows.length : rows.findIndex(({ name }) => name === before.name)
      return rows.slice(0, end).toReversed().slice(0, limit)
    },
  }
  const part: DirectoryPart<DirectoryRecord> = {
    holders: async (asked) => new Map(asked.flatMap((name) => (held.has(name) ? [[name, held.get(name) ?? '']] : []))),
    async add(some, cell) {
      if (++adds > most) throw new Error('crash')
      for (const { name } of some) if (!held.has(name)) held.set(name, cell)
      return some.flatMap(({ name }) => (held.get(name) === cell ? [] : name))
    },
  }
  return { contents, part, reads: () => reads }
}
const named = (count: number) => Array.from({ length: count }, (_, i) => `n${i}`)

test('what an older copy of the directory lacks is added, however often the sync dies in between', async () => {
  const sizes = fc.record({
    all: fc.integer({ min: 0, max: 5_000 }),
    lost: fc.nat(5_000),
    deaths: fc.array(fc.nat(3), { maxLength: 4 }),
  })
  await fc.assert(
    fc.asyncProperty(sizes, async ({ all, lost, deaths }) => {
      const names = named(all)
      const held = new Map(names.slice(0, Math.max(0, all - lost)).map((name) => [name, 'c2']))
      for (const most of deaths) {
        const { contents, part } = world(names, held, most)
        await syncDirectory('c2', contents, part).catch(() => undefined)
      }
      const { contents, part } = world(names, held)
      expect((await syncDirectory('c2', contents, part)).disputed).toEqual([])
      expect(held.size).toBe(all)
    }),
    { numRuns: 60 },
  )
})

test('a directory that lacks nothing costs one read of a page, however much there is', async () => {
  const names = named(50_000)
  const { contents, part, reads } = world(names, new Map(names.map((name) => [name, 'c2'])))
  expect(await syncDirectory('c2', contents, part)).toEqual({ added: 0, disputed: [] })
  expect(reads()).toBe(1)
})

test('what another cell has is named and stays there, whether it was known before or added meanwhile', async () => {
  const names = named(3_000)
  const held = new Map(names.slice(0, 1_500).map((name) => [name, 'c2']))
  held.set('n2999', 'c3')
  const { contents, part } = world(names, held)
  const { add } = part
  const racing: typeof part = {
    ...part,
    async add(rows, cell) {
      if (!held.has('n2000')) held.set('n2000', 'main')
      return add(rows, cell)
    },
  }
  const { added, disputed } = await syncDirectory('c2', contents, racing)
  expect(disputed.toSorted()).toEqual(['shown n2000', 'shown n2999'])
  expect([added, held.get('n2000'), held.get('n2999'), held.size]).toEqual([1_498, 'main', 'c3', 3_000])
})
