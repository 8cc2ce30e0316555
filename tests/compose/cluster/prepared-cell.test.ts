import { describe, expect, test } from 'bun:test'
import { until } from '../../support/until'
import { testNodes } from './test-nodes'

/** Issue 23: a planned hand-over within 200 ms, because the next owner prepares the cell while the older one serves it. */
describe('the next owner of a cell', () => {
  /** `a` owns `main`, and `b` stands by. */
  async function ownerAndStandby() {
    const nodes = testNodes()
    const a = nodes.start('a')
    await nodes.time.pass(500)
    const b = nodes.start('b')
    await nodes.time.pass(2_000)
    expect(nodes.granting()).toEqual(['a'])
    return { ...nodes, a, b }
  }

  /** A request waits at this node, which looks at the leases more often then. */
  const waits = ({ role }: Awaited<ReturnType<typeof ownerAndStandby>>['b']) => void role.until(() => role.owned())

  test('prepares it while the owner grants, grants nothing meanwhile, and begins under its own lease', async () => {
    const { time, a, b, granting, opened, prepared } = await ownerAndStandby()
    await b.role.main.prepare()
    await time.pass(1_000)
    expect([granting(), b.role.owned(), b.role.term, b.role.main.isPrepared]).toEqual([['a'], null, null, true])
    const left = a.role.leave(0)
    await time.pass(200)
    await left
    expect([granting(), prepared.length, prepared[0]?.term, opened.at(-1)]).toEqual([['b'], 1, 2, prepared[0] as never])
    expect(b.role.main.isPrepared).toBe(false)
  })

  test('is asked to by an owner that stops', async () => {
    const { time, a, granting, prepared } = await ownerAndStandby()
    const left = a.role.leave(0)
    await time.pass(200)
    await left
    expect([granting(), prepared.map(({ node, term }) => [node, term])]).toEqual([['b'], [['b', 2]]])
  })

  test('takes the only cell, although another standby sees first that it is free', async () => {
    const { time, start, a, b, granting, opened, prepared } = await ownerAndStandby()
    const c = start('c')
    await time.pass(2_000)
    const left = a.role.leave(0)
    await until(() => time.pass(50).then(() => prepared.length > 0))
    const next = prepared[0]?.node === 'b' ? b : c
    next.link.isCut = true
    await time.pass(500)
    next.link.isCut = false
    await time.pass(500)
    await left
    expect([granting(), opened.at(-1)]).toEqual([[prepared[0]?.node as string], prepared[0] as never])
  })

  test('leaves it to another one after two seconds, if it is gone by then', async () => {
    const { time, start, a, b, granting, prepared } = await ownerAndStandby()
    const c = start('c')
    await time.pass(2_000)
    const left = a.role.leave(0)
    await until(() => time.pass(50).then(() => prepared.length > 0))
    const [gone, other] = prepared[0]?.node === 'b' ? [b, 'c'] : [c, 'b']
    gone.link.isCut = true
    await time.pass(1_500)
    expect(granting()).toEqual([])
    await time.pass(1_500)
    await left
    expect(granting()).toEqual([other])
  })

  test('is whoever sees first that it is free, where the one that was asked would not take it', async () => {
    for (const fault of ['stops too', 'is cut off', 'has a wrong clock'] as const) {
      const { time, start, a, b, granting, prepared } = await ownerAndStandby()
      // The newest is asked.
      const { role, link } = start('c')
      await time.pass(2_000)
      if (fault === 'stops too') role.withdraw()
      if (fault === 'is cut off') link.isCut = true
      if (fault === 'has a wrong clock') link.skewMs = 60_000
      if (fault !== 'stops too') await time.pass(1_500)
      const left = a.role.leave(0)
      waits(b)
      await time.pass(300)
      await left
      expect([fault, granting(), prepared.every(({ node }) => node === 'b')]).toEqual([fault, ['b'], true])
    }
  })

  test('opens it anew if it cannot be prepared, or cannot begin', async () => {
    for (const fault of ['unprepared', 'unbegun'] as const) {
      const { time, a, b, granting, opened, prepared, lines } = await ownerAndStandby()
      b.link[fault] = new Error('the tables are not those of this version')
      const left = a.role.leave(0)
      waits(b)
      await time.pass(200)
      await left
      expect([granting(), opened.at(-1)?.isPrepared, prepared.every(({ isClosed }) => isClosed)]).toEqual([
        ['b'],
        false,
        true,
      ])
      expect(lines.filter((line) => /prepare/.test(line))).toEqual([
        fault === 'unprepared'
          ? 'b info: could not prepare a cell; it will be opened when this node takes it'
          : 'b warn: a prepared cell cannot be used; it is opened from scratch',
      ])
    }
  })

  test('closes it if it breaks before it is taken, and prepares it again when it is asked', async () => {
    const { time, b, granting, prepared } = await ownerAndStandby()
    await b.role.main.prepare()
    prepared[0]?.lose('a worker ended')
    await time.pass(100)
    expect([prepared[0]?.isClosed, b.role.main.isPrepared, granting()]).toEqual([true, false, ['a']])
    await b.role.main.prepare()
    expect([prepared.length, b.role.main.isPrepared]).toEqual([2, true])
  })

  test('loses it like any other that it owns, also if it was prepared', async () => {
    const { time, a, granting, prepared } = await ownerAndStandby()
    const left = a.role.leave(0)
    await time.pass(200)
    await left
    prepared[0]?.lose('another process owns the database now')
    expect([prepared[0]?.isDraining, granting()]).toEqual([true, []])
    await time.pass(100)
    expect(prepared[0]?.isClosed).toBe(true)
  })

  test('opens nothing anew under a lease that it lost while the prepared one began', async () => {
    const { time, a, b, opened, prepared, granting } = await ownerAndStandby()
    await b.role.main.prepare()
    const begins = Promise.withResolvers<void>()
    b.link.beginning = begins.promise
    b.link.unbegun = new Error('the connection was cut')
    const left = a.role.leave(0)
    await time.pass(200)
    await left
    expect(b.role.name).toBe('taking')
    prepared[0]?.lose('the database did not answer for 10 s')
    begins.resolve()
    await time.pass(200)
    expect([b.role.name, b.role.main.failure, opened.length, granting()]).toEqual([
      'standby',
      'the connection was cut',
      1,
      [],
    ])
  })

  test('keeps what it owns, whatever an earlier prepared one says of its end', async () => {
    const { time, a, b, prepared, granting } = await ownerAndStandby()
    await b.role.main.prepare()
    prepared[0]?.lose('a worker ended')
    await time.pass(100)
    await b.role.main.prepare()
    prepared[0]?.lose('the other worker ended, too')
    await time.pass(100)
    expect([b.role.main.isPrepared, prepared[1]?.isClosed]).toEqual([true, false])
    b.link.unbegun = new Error('a step failed')
    const left = a.role.leave(0)
    await time.pass(200)
    await left
    prepared[1]?.lose('the database did not answer for 10 s')
    expect(granting()).toEqual(['b'])
  })

  test('looks for it often, also while no request waits: it has it within 100 ms', async () => {
    const { time, a, b, granting } = await ownerAndStandby()
    const asked = b.role.prepare('main')
    await time.pass(3_000)
    await asked
    await a.role.leave(0)
    await time.pass(100)
    expect(granting()).toEqual(['b'])
  })

  test('does not take it while its database is silent', async () => {
    const { time, start, granting, prepared } = testNodes(['main', 'c2'])
    const a = start('a')
    await time.pass(500)
    const b = start('b')
    await time.pass(10_000)
    const [one, other] = a.role.of('c2')?.owned() ? [a, b] : [b, a]
    await other.role.prepare('c2')
    other.link.silent = ['c2']
    const given = one.role.of('c2')?.yieldWithin(0)
    await time.pass(1_000)
    await given
    // The older owner takes it back.
    expect([other.role.of('c2')?.term, prepared.at(-1)?.term, one.role.of('c2')?.term]).toEqual([null, null, 3])
    expect(granting().length).toBe(2)
  })

  test('is the node to which an operator pinned the cell', async () => {
    const { time, start, prepared, allLeases } = testNodes(['main', 'c2', 'c3', 'c4'])
    const roles = new Map(['a', 'b', 'c'].map((id) => [id, start(id).role]))
    await time.pass(30_000)
    const { owners } = await allLeases.look()
    const [cell, owner] = [...owners].find(([name]) => name !== 'main') ?? []
    if (!cell || !owner) throw new Error('nobody owns a cell')
    const others = ['a', 'b', 'c'].filter((id) => id !== owner.nodeId)
    const counts = (id: string) => [...owners.values()].filter(({ nodeId }) => nodeId === id).length
    const [most = ''] = others.sort((x, y) => counts(y) - counts(x))
    await allLeases.plan(cell, most, true)
    void roles.get(owner.nodeId)?.leave(0)
    await time.pass(500)
    expect(prepared.filter((each) => each.cell === cell).at(-1)?.node).toBe(most)
  })

  test('closes what it prepared when it stops itself', async () => {
    const { b, prepared, granting } = await ownerAndStandby()
    await b.role.main.prepare()
    await b.role.leave(0)
    expect([prepared[0]?.isClosed, granting()]).toEqual([true, ['a']])
  })

  test('prepares nothing that it owns', async () => {
    const { a, prepared } = await ownerAndStandby()
    await a.role.main.prepare()
    expect(prepared).toEqual([])
  })
})

describe('cells of nodes', () => {
  test('that are moved or balanced are prepared by the node that gets them, which is the only one', async () => {
    const { time, start, opened, prepared } = testNodes(['main', 'c2', 'c3'])
    const a = start('a')
    await time.pass(500)
    start('b')
    await time.pass(10_000)
    // `b` joined: it gets its share.
    expect(prepared.map(({ node }) => node)).toEqual(['b'])
    const [to] = (await a.role.sighting)?.offers.filter(({ nodeId }) => nodeId === 'b') ?? []
    if (!to) throw new Error('no offer')
    const mine = opened.filter(({ node, isClosed }) => node === 'a' && !isClosed).map(({ cell }) => cell)
    const [cell = ''] = mine
    const given = a.role.handOver(cell, to)
    await time.pass(500)
    await given
    expect(prepared.at(-1)).toMatchObject({ node: 'b', cell })
    expect(opened.at(-1)).toBe(prepared.at(-1) as never)
  })

  test('are each prepared by one other node when their owner stops', async () => {
    const { time, start, prepared, granting } = testNodes(['main', 'c2', 'c3', 'c4'])
    const a = start('a')
    await time.pass(1_000)
    for (const id of ['b', 'c']) start(id)
    await time.pass(30_000)
    const owned = prepared.length
    const left = a.role.leave(0)
    await time.pass(500)
    await left
    const cells = prepared.slice(owned).map(({ cell }) => cell)
    expect(new Set(cells).size).toBe(cells.length)
    expect(cells.length).toBeGreaterThan(0)
    await time.pass(5_000)
    expect([granting().length, granting().includes('a')]).toEqual([4, false])
  })
})
