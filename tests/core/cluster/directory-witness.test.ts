import { expect, test } from 'bun:test'
import { MemoryLeases } from '../../../server/adapters/stores/memory/leases'
import { DirectoryWitness, type WitnessStore } from '../../../server/core/cluster/directory-witness'

const CELLS = ['main', 'c2']

/** A control database that can be put back to what it was, and nodes on it. */
function world() {
  const faults = { isAway: false, losesAnswers: false, now: 0 }
  const rows = () => new MemoryLeases({ now: () => faults.now })
  let database = rows()
  const silent = new Set<string>()
  const asked: string[] = []
  const lost: string[] = []
  const store: WitnessStore = {
    async attest(...call) {
      if (faults.isAway) throw new Error('the database does not answer')
      const found = await database.attest(...call)
      if (faults.losesAnswers) throw new Error('the answer was lost')
      return found
    },
  }
  const join = (nodeId: string) =>
    new DirectoryWitness({
      ...{ nodeId, cells: CELLS, store },
      async ask(cell) {
        asked.push(`${nodeId} ${cell}`)
        if (silent.has(cell)) throw new Error('away')
      },
      onLoss: () => lost.push(nodeId),
    })
  /** What the database says now, and the way back to it. */
  const copy = async () => {
    const said = await database.attest('copier', [], { kept: '', restarted: '' })
    return async () => {
      database = rows()
      for (const [node, { text }] of said) await database.attest(node, [], { kept: '', restarted: text })
    }
  }
  return { ...{ join, copy, silent, asked, lost, faults }, gone: (nodeId: string) => database.leave(nodeId) }
}

test('a node vouches once it began to look and all cells told after that, and asks none of them again', async () => {
  const { join, silent, asked, lost } = world()
  const a = join('a')
  silent.add('c2')
  expect([a.since, await a.vouches()]).toEqual([null, false])
  await a.look()
  expect(await a.vouches()).toBe(false)
  silent.clear()
  await a.look()
  expect(await a.vouches()).toBe(true)
  silent.add('c2')
  await a.look()
  expect([await a.vouches(), asked, lost]).toEqual([true, ['a main', 'a c2', 'a c2'], []])
})

test('a node that comes while a cell is silent believes one that vouches and still looks, not what a node left behind', async () => {
  const { join, silent, gone } = world()
  const a = join('a')
  await a.look()
  await a.look()
  silent.add('c2')
  const b = join('b')
  for (let i = 0; i < 3; i++) await b.look()
  // What it found may be of any time.
  expect(await b.vouches()).toBe(false)
  await a.look()
  expect(await b.vouches()).toBe(true)
  await gone('a')
  const c = join('c')
  await c.look()
  await b.look()
  expect(await c.vouches()).toBe(true)
})

test('an older copy is noticed by every node: none vouches before all cells have told again, and nobody is believed', async () => {
  const { join, copy, silent, lost } = world()
  const [a, b] = [join('a'), join('b')]
  for (const node of [a, b, a, b]) await node.look()
  const putBack = await copy()
  for (const node of [a, b]) await node.look()
  expect([await a.vouches(), await b.vouches()]).toEqual([true, true])
  silent.add('c2')
  const c = join('c')
  await c.look()
  const { since } = a
  await putBack()
  // One that came just before is not misled by the older words of others.
  expect([await c.vouches(), await a.vouches(), await b.vouches()]).toEqual([false, false, false])
  for (const node of [a, b, c, a, b, c]) await node.look()
  expect([await a.vouches(), await b.vouches(), await c.vouches()]).toEqual([false, false, false])
  expect([lost, a.since === since]).toEqual([['c', 'a', 'b'], false])
  silent.clear()
  await b.look()
  await b.look()
  expect([await b.vouches(), await a.vouches(), await c.vouches()]).toEqual([true, true, true])
})

test('what is put back while all nodes are stopped is believed by none of the next ones', async () => {
  const { join, copy, silent, gone } = world()
  const a = join('a')
  for (let i = 0; i < 3; i++) await a.look()
  const putBack = await copy()
  await gone('a')
  await putBack()
  silent.add('c2')
  const nodes = [join('b'), join('c')]
  for (let i = 0; i < 3; i++) for (const node of nodes) await node.look()
  expect(await Promise.all(nodes.map((node) => node.vouches()))).toEqual([false, false])
})

test('a node that could not look for 10 s starts over, because a copy may have been made and put back meanwhile', async () => {
  const { join, silent, lost, faults, asked } = world()
  const a = join('a')
  await a.look()
  faults.now += 10_000
  expect(await a.vouches()).toBe(true)
  silent.add('c2')
  faults.now += 10_001
  expect(await a.vouches()).toBe(false)
  await a.look()
  expect([await a.vouches(), lost, asked]).toEqual([false, [], ['a main', 'a c2', 'a main', 'a c2']])
})

test('a database that does not answer, or whose answers are lost, makes nobody vouch and loses nothing', async () => {
  const { join, faults, lost } = world()
  const a = join('a')
  await a.look()
  for (const fault of ['isAway', 'losesAnswers', 'isAway', 'losesAnswers'] as const) {
    faults[fault] = true
    expect(await a.vouches()).toBe(false)
    await expect(a.look()).rejects.toThrow()
    faults[fault] = false
  }
  expect([await a.vouches(), lost]).toEqual([true, []])
})
