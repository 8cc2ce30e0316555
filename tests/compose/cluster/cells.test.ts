import { describe, expect, test } from 'bun:test'
import { testNodes } from './test-nodes'

const CELLS = ['main', 'c2', 'c3', 'c4', 'c5'] as const

/** Nodes that divide cells among them, and what must hold at every moment. */
function sharing(cells: readonly string[]) {
  const nodes = testNodes(cells)
  const { time, opened, allLeases } = nodes
  const freeFor = new Map<string, number>()
  const granting = (cell: string) =>
    opened.filter((each) => each.cell === cell && each.mayGrant()).map(({ node }) => node)
  let longestFree = 0
  return {
    ...nodes,
    /** The owner of each cell. */
    owners: () => Object.fromEntries(cells.map((cell) => [cell, granting(cell).join()])),
    /** How many cells each node has. */
    counts() {
      const counts: Record<string, number> = {}
      for (const cell of cells) for (const node of granting(cell)) counts[node] = (counts[node] ?? 0) + 1
      return counts
    },
    /** The longest time that a cell had no owner since the last call, in milliseconds. */
    longestFree() {
      const longest = longestFree
      longestFree = 0
      return longest
    },
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += 50) {
        await time.pass(50)
        const { owners } = await allLeases.look()
        for (const cell of cells) {
          expect(granting(cell).length).toBeLessThan(2)
          freeFor.set(cell, owners.has(cell) ? 0 : (freeFor.get(cell) ?? 0) + 50)
          longestFree = Math.max(longestFree, freeFor.get(cell) ?? 0)
        }
      }
    },
  }
}

/** Issue 23: several cells among several nodes. */
describe('cells', () => {
  test('are all of one node that is alone, and each starts a gateway of its own', async () => {
    const { start, pass, owners, opened } = sharing(['main', 'c2', 'c3'])
    const { role, started } = start('a')
    await pass(500)
    expect([await started, owners()]).toEqual([null, { main: 'a', c2: 'a', c3: 'a' }])
    expect([role.of('c2')?.owned()?.cell, role.of('c4'), opened.length]).toEqual(['c2', null, 3])
    await pass(60_000)
    expect([opened.length, role.of('c3')?.term]).toEqual([3, 1])
  })

  test('go to no node that cannot search yet, unless they have no owner', async () => {
    const { start, pass, owners } = sharing(['main', 'c2'])
    const a = start('a')
    a.link.canSearch = false
    await pass(500)
    expect(owners()).toEqual({ main: 'a', c2: 'a' })
    a.link.canSearch = true
    const b = start('b')
    b.link.canSearch = false
    await pass(30_000)
    expect(owners()).toEqual({ main: 'a', c2: 'a' })
    b.link.canSearch = true
    await pass(5_000)
    expect(owners()).toEqual({ main: 'a', c2: 'b' })
    // Models and sign-ins need no search.
    b.link.canSearch = false
    const left = a.role.leave(0)
    await pass(5_000)
    await left
    expect(owners()).toEqual({ main: 'b', c2: 'b' })
  })

  test('are divided among nodes that start together, join, die and come back: never two owners, and no flapping', async () => {
    for (const cells of [CELLS.slice(0, 2), CELLS.slice(0, 3), CELLS])
      for (const nodes of [2, 3, 4]) {
        const { start, pass, counts, opened, longestFree } = sharing(cells)
        const expectShared = (among: number) => {
          const most = Math.ceil(cells.length / among)
          const shares = Object.values(counts())
          expect(shares.reduce((sum, count) => sum + count, 0)).toBe(cells.length)
          expect(Math.max(...shares)).toBe(most)
        }
        const started = Array.from({ length: nodes }, (_, i) => start(`n${i}`))
        await pass(20_000)
        expectShared(nodes)
        const moves = opened.length
        await pass(60_000)
        expect(opened.length).toBe(moves)
        // Each dies with what it has, and another process takes its place.
        const [dying] = started
        if (dying) dying.link.isCut = true
        await pass(13_000)
        longestFree()
        await pass(20_000)
        expectShared(nodes - 1)
        if (dying) dying.link.isCut = false
        await pass(20_000)
        expectShared(nodes)
        // One look after the release, and no more.
        expect(longestFree()).toBeLessThanOrEqual(1_000)
        const settled = opened.length
        await pass(60_000)
        expect(opened.length).toBe(settled)
      }
  }, 60_000)

  test('of a node that stops go to the others within one look, whatever their shares were', async () => {
    for (const nodes of [2, 3, 4]) {
      const { start, pass, counts, longestFree } = sharing(CELLS)
      const [first, ...others] = Array.from({ length: nodes }, (_, i) => start(`n${i}`))
      await pass(30_000)
      longestFree()
      const left = first?.role.leave(0)
      await pass(5_000)
      await left
      expect(longestFree()).toBeLessThanOrEqual(1_000)
      expect([counts()['n0'], Object.values(counts()).reduce((sum, count) => sum + count, 0)]).toEqual([undefined, 5])
      expect(others.every(({ role }) => role.problem() === null)).toBe(true)
    }
  })

  test('of nodes that all stop go to none of them, and nobody waits for a successor', async () => {
    const { start, pass, opened, owners, allLeases } = sharing(['main', 'c2', 'c3'])
    const nodes = ['a', 'b', 'c'].map((id) => start(id).role)
    await pass(20_000)
    const before = opened.length
    // All get the signal, and give their cells back one after the other.
    for (const role of nodes) role.withdraw()
    const caller = new AbortController()
    let left = 0
    for (const role of nodes) {
      const leaving = role.leave(0).then(() => left++)
      const waiting = role.main.found(caller.signal)
      await pass(3_000)
      expect(left).toBe(nodes.indexOf(role) + 1)
      void Promise.all([leaving, waiting])
    }
    caller.abort()
    expect([opened.length, owners(), (await allLeases.look()).owners.size]).toEqual([
      before,
      { main: '', c2: '', c3: '' },
      0,
    ])
  })

  test('are named by the log when a node takes or gives one, main as well, but not where it is the only one', async () => {
    const cellsSaid = async (cells: readonly string[]) => {
      const { start, pass, details } = sharing(cells)
      const { role } = start('a')
      await pass(1_000)
      const left = role.leave(0)
      await pass(1_000)
      await left
      return details.map((line) => Reflect.get(line, 'cell'))
    }
    expect(await cellsSaid(['main', 'c2'])).toEqual(['main', 'c2', 'main', 'c2'])
    expect(await cellsSaid(['main'])).toEqual([undefined, undefined])
  })

  test('of a node that dies are served again when the leases end, by nodes that share them', async () => {
    const { start, pass, owners, counts, longestFree } = sharing(['main', 'c2', 'c3', 'c4'])
    const [a] = [start('a'), start('b'), start('c')]
    await pass(20_000)
    longestFree()
    a.link.isCut = true
    await pass(12_500)
    expect(Object.values(owners()).includes('')).toBe(false)
    expect([longestFree() <= 1_100, Math.max(...Object.values(counts()))]).toEqual([true, 2])
  })

  test('are lost one by one: the others of the node go on, and no call of theirs ends', async () => {
    const { start, pass, opened, owners, lines } = sharing(['main', 'c2'])
    const { role } = start('a')
    await pass(1_000)
    const [main, second] = opened
    second?.lose('another process owns the database now')
    expect([main?.isClosed, role.main.owned() === main, role.of('c2')?.owned()]).toEqual([false, true, null])
    await pass(3_000)
    expect([second?.isClosed, main?.isClosed, role.of('c2')?.term, owners()]).toEqual([
      true,
      false,
      2,
      { main: 'a', c2: 'a' },
    ])
    expect(lines).toContain('a error: this node no longer owns the accounts')
  })

  test('that a node cannot open are taken by another one, which keeps them while that goes on', async () => {
    const { start, pass, owners, opened } = sharing(['main', 'c2', 'c3', 'c4'])
    const a = start('a')
    const b = start('b')
    Object.assign(b.link, { failure: new Error('the disk is full'), failing: ['c3', 'c4', 'c2'] })
    await pass(30_000)
    // It takes what it can.
    expect(owners()).toEqual({ main: 'b', c2: 'a', c3: 'a', c4: 'a' })
    expect([a.role.problem(), b.role.problem()]).toEqual([null, null])
    const moves = opened.length
    await pass(120_000)
    expect(opened.length).toBe(moves)
    b.link.failure = null
    await pass(240_000)
    expect(Object.values(owners()).filter((node) => node === 'b')).toHaveLength(2)
  })

  test('that cannot be opened do not keep a node from starting with the others', async () => {
    const { start, pass, owners } = sharing(['main', 'c2'])
    const { role, link, started } = start('a')
    Object.assign(link, { failure: new Error('the disk is full'), failing: ['c2'] })
    let problem: string | null | undefined
    void started.then((found) => {
      problem = found
    })
    await pass(500)
    expect([problem, owners(), role.of('c2')?.failure]).toEqual([null, { main: 'a', c2: '' }, 'the disk is full'])
  })

  test('are handed over one at a time, each while its requests end', async () => {
    const { start, pass, opened, counts } = sharing(['main', 'c2', 'c3', 'c4'])
    const a = start('a')
    await pass(1_000)
    const { promise, resolve } = Promise.withResolvers<void>()
    const handled = a.role.of('c4')?.during(() => promise)
    start('b')
    await pass(5_000)
    expect([a.role.of('c4')?.name, counts()]).toEqual(['releasing', { a: 4 }])
    resolve()
    await handled
    await pass(5_000)
    expect([counts(), opened.filter(({ isClosed }) => isClosed).map(({ cell }) => cell)]).toEqual([
      { a: 2, b: 2 },
      ['c3', 'c4'],
    ])
  })

  test('that an operator moved stay where they are, and other cells make room', async () => {
    const { start, pass, owners, opened, allLeases } = sharing(['main', 'c2', 'c3'])
    const a = start('a')
    start('b')
    await pass(10_000)
    expect(Object.values(owners()).filter((node) => node === 'a')).toHaveLength(2)
    const give = async (cell: string, to: string) => {
      const owner = [a].find(({ role }) => role.of(cell)?.owned())
      const offer = (await allLeases.look()).offers.find(({ nodeId }) => nodeId === to)
      if (!owner || !offer) throw new Error('no such move')
      const given = owner.role.handOver(cell, offer)
      await pass(5_000)
      await given
    }
    const [first = '', second = ''] = Object.keys(owners()).filter((cell) => owners()[cell] === 'a')
    await give(first, 'b')
    expect(owners()[first]).toBe('b')
    await give(second, 'b')
    await pass(20_000)
    // b has its share of two pinned ones; the third goes to a.
    expect([owners()[first], owners()[second]]).toEqual(['b', 'b'])
    expect(Object.values(owners()).filter((node) => node === 'a')).toHaveLength(1)
    const moves = opened.length
    await pass(60_000)
    expect(opened.length).toBe(moves)
  })

  test('that an operator moved stay with their node while main moves, its owner dies, or nobody reaches the leases', async () => {
    const { start, pass, owners, opened, allLeases } = sharing(['main', 'c2', 'c3', 'c4'])
    const nodes = Object.fromEntries(['a', 'b', 'c'].map((id) => [id, start(id)]))
    await pass(10_000)
    const give = async (cell: string, to: string) => {
      const offer = (await allLeases.look()).offers.find(({ nodeId }) => nodeId === to)
      const owner = nodes[owners()[cell] ?? '']
      if (!owner || !offer) throw new Error('no such move')
      const given = owner.role.handOver(cell, offer)
      await pass(5_000)
      await given
    }
    const isPinned = async (cell: string) => (await allLeases.look()).plans.get(cell)?.isPinned
    await give('c2', 'b')
    for (const to of ['b', 'a', 'b', 'c']) {
      await give('main', to)
      await pass(40_000)
      expect([owners()['main'], owners()['c2'], await isPinned('c2')]).toEqual([to, 'b', true])
    }
    // Whoever comes back first takes what is free: it goes to the node of the pin then.
    for (const away of [['c'], ['b', 'a', 'c'], ['b'], ['a', 'b']]) {
      for (const id of away) Object.assign(nodes[id]?.link ?? {}, { isCut: true })
      await pass(15_000)
      for (const id of away.reverse()) {
        Object.assign(nodes[id]?.link ?? {}, { isCut: false })
        await pass(2_500)
      }
      await pass(60_000)
      expect([away, owners()['c2'], await isPinned('c2')]).toEqual([away, 'b', true])
    }
    const moves = opened.length
    await pass(60_000)
    expect(opened.length).toBe(moves)
    await nodes['b']?.role.leave(1_000)
    await nodes['b']?.role.end()
    await pass(20_000)
    expect([owners()['c2'] === 'b', await isPinned('c2')]).toEqual([false, undefined])
  })

  test('are not given to nodes of a version that knows one cell', async () => {
    const { time, start, pass, owners, opened, allLeases } = sharing(['main', 'c2'])
    start('a')
    for (let i = 0; i < 20; i++) {
      await allLeases.beat({ id: 'old', url: 'http://old', version: '0.1.0', zones: null, skewMs: 0 })
      await pass(1_000)
    }
    expect([owners(), opened.length, time.now > 0]).toEqual([{ main: 'a', c2: 'a' }, 2, true])
  })
})
