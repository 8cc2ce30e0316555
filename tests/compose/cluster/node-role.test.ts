import { describe, expect, spyOn, test } from 'bun:test'
import { TermTooLow } from '../../../server/core/cluster/leases'
import { testNodes } from './test-nodes'

/** An owner `a` that stops while a request is in progress there, and its standby `b`. */
async function stoppingOwner({ unprepared = null as Error | null } = {}) {
  const nodes = testNodes()
  const a = nodes.start('a')
  await nodes.time.pass(1_000)
  const b = nodes.start('b')
  b.link.unprepared = unprepared
  await nodes.time.pass(2_000)
  const { promise, resolve } = Promise.withResolvers<void>()
  const handled = a.role.during(() => promise)
  const left = a.role.leave(30_000)
  const endRequest = () => {
    resolve()
    return handled
  }
  return { ...nodes, a, b, left, endRequest }
}

/** Issue 23: how a node becomes the owner of the accounts, and stops being it. */
describe('a node', () => {
  test('takes the accounts if nobody owns them; the next one stands by and knows the owner', async () => {
    const { time, start, granting } = testNodes()
    const a = start('a')
    await time.pass(100)
    const b = start('b')
    await time.pass(2_000)
    expect([await a.started, await b.started]).toEqual([null, null])
    expect([a.role.name, b.role.name, granting()]).toEqual(['owner', 'standby', ['a']])
    expect(b.role.owner()).toMatchObject({ nodeId: 'a', url: 'http://a', term: 1 })
    expect([a.role.owner(), b.role.owned()]).toEqual([null, null])
    await time.pass(60_000)
    expect([a.role.term, granting()]).toEqual([1, ['a']])
  })

  test('that cannot reach the database stops granting before another one takes the accounts, and closes them', async () => {
    const { time, start, granting, opened } = testNodes()
    const a = start('a')
    await time.pass(1_000)
    const b = start('b')
    await time.pass(5_000)
    a.link.isCut = true
    for (let ms = 0; ms < 12_000; ms += 50) {
      await time.pass(50)
      expect(granting().length).toBeLessThan(2)
    }
    expect([granting(), b.role.term, a.role.name, opened[0]?.isClosed]).toEqual([['b'], 2, 'standby', true])
    expect(a.role.problem()).toBe('the database does not answer')
    a.link.isCut = false
    await time.pass(2_000)
    expect([a.role.owner()?.nodeId, a.role.problem()]).toEqual(['b', null])
  })

  test('that finds another term in the lease, as after a long freeze, grants nothing and stands by', async () => {
    const { time, start, leases, granting, opened } = testNodes()
    const a = start('a')
    await time.pass(1_000)
    await leases.release('a', 1)
    expect(await leases.take({ id: 'b', url: 'http://b' })).toBe(2)
    await time.pass(4_000)
    expect([granting(), a.role.owned(), a.role.owner()?.nodeId, opened[0]?.isClosed]).toEqual([[], null, 'b', true])
  })

  test('whose epoch was raised by another process closes the accounts at once, and takes them again if nobody has the lease', async () => {
    const { time, start, opened, granting } = testNodes()
    const { role } = start('a')
    await time.pass(1_000)
    opened[0]?.lose('another process owns the database now')
    expect([granting(), role.owned()]).toEqual([[], null])
    await time.pass(4_000)
    expect([opened[0]?.isClosed, role.term, granting()]).toEqual([true, 2, ['a']])
  })

  test('hands over at a stop: it waits for its requests, then the next owner comes within 200 ms', async () => {
    const { time, granting, opened, a, b, left, endRequest } = await stoppingOwner()
    await time.pass(10_000)
    // It renews the lease as long as a request is in progress, and takes no new one.
    expect([a.role.name, a.role.owned(), a.role.term, opened[0]?.isClosed]).toEqual(['releasing', null, null, false])
    const waiting = b.role.until(() => b.role.owned())
    await time.pass(1_000)
    await endRequest()
    await time.pass(200)
    await left
    expect([opened[0]?.isDraining, opened[0]?.isClosed, granting(), (await waiting)?.node]).toEqual([
      true,
      true,
      ['b'],
      'b',
    ])
    // Who left never takes them again.
    await b.role.leave(0)
    await time.pass(20_000)
    expect(granting()).toEqual([])
  })

  test('that cannot open the accounts lets others try, and tries again later', async () => {
    const { time, start, granting, lines } = testNodes()
    const a = start('a')
    a.link.failure = new Error('the data was written by a newer version')
    await time.pass(1_000)
    expect(await a.started).toBe('the data was written by a newer version')
    start('b')
    await time.pass(1_000)
    expect(granting()).toEqual(['b'])
    expect(lines).toContain('a error: this node could not open the accounts')
  })

  test('whose lease is lower than the last that opened the accounts takes a higher one at once, as after a restore of the leases', async () => {
    const { time, start, granting, lines } = testNodes()
    const a = start('a')
    a.link.failure = new TermTooLow(40)
    await time.pass(200)
    a.link.failure = null
    await time.pass(500)
    expect(granting()).toEqual(['a'])
    expect(a.role.term).toBeGreaterThan(40)
    expect(lines.filter((line) => line.includes('error'))).toEqual([])
  })

  test('that does not know whether it got the lease gives it back', async () => {
    const { time, start, granting, leases } = testNodes()
    const a = start('a')
    a.link.losesAnswers = true
    await time.pass(2_000)
    expect(granting()).toEqual([])
    a.link.losesAnswers = false
    await time.pass(1_000)
    expect([granting(), (await leases.look()).owner?.nodeId]).toEqual([['a'], 'a'])
  })

  test('whose clock is wrong does not take the accounts, and says so', async () => {
    const { time, start, granting, lines } = testNodes()
    const { role } = start('a', { skewMs: -5_000 })
    await time.pass(5_000)
    expect(role.problem()).toBe("the clock is 5.0 s behind the database's; synchronize it (NTP)")
    expect([role.aheadMs, lines]).toEqual([-5_000, ['a error: the clock of this node is off']])
    const rightClock = start('b')
    await time.pass(1_000)
    expect([granting(), rightClock.role.name]).toEqual([['b'], 'owner'])
  })

  test('looks for the next owner more often at first, while a request waits', async () => {
    const { time, allLeases, b, left, endRequest } = await stoppingOwner({ unprepared: new Error('no memory') })
    const waiting = b.role.until(() => b.role.owned())
    const looks = spyOn(allLeases, 'look')
    const looksWithin = async (ms: number) => {
      looks.mockClear()
      await time.pass(ms)
      return looks.mock.calls.length
    }
    // The time of the test goes by in steps of 50 ms.
    expect(await looksWithin(1_000)).toBeGreaterThanOrEqual(15)
    await time.pass(5_000)
    expect(await looksWithin(1_000)).toBeLessThanOrEqual(11)
    await endRequest()
    await time.pass(1_000)
    await Promise.all([left, waiting])
    expect(b.role.name).toBe('owner')
  })

  test('whose clock goes wrong while it owns hands over to one with a right clock, and stays if there is none', async () => {
    const { time, start, granting } = testNodes()
    const a = start('a')
    await time.pass(1_000)
    a.link.skewMs = 3_000
    await time.pass(20_000)
    expect([granting(), a.role.problem() !== null]).toEqual([['a'], true])
    start('b')
    await time.pass(10_000)
    expect([granting(), a.role.name, a.role.owner()?.nodeId]).toEqual([['b'], 'standby', 'b'])
  })

  test('sends nothing to an owner that has no proof of the same secrets, and takes no part until it is gone', async () => {
    const { time, start, leases, granting } = testNodes()
    await leases.take({ id: 'thief', url: 'http://thief' })
    const { role } = start('a')
    await time.pass(1_000)
    expect([role.owner(), role.owned(), role.problem()]).toEqual([
      null,
      null,
      'the lease names http://thief, which is not a node with this SECRET_KEY',
    ])
    await time.pass(11_000)
    expect([granting(), role.problem()]).toEqual([['a'], null])
  })

  test('says that it has the address of another one, but not while the process before it may still own', async () => {
    const { time, start, leases, lines } = testNodes()
    await leases.take({ id: 'before', url: 'http://a' })
    const { role } = start('a')
    await time.pass(9_000)
    expect([role.owner()?.nodeId, role.problem()]).toEqual(['before', null])
    await time.pass(3_000)
    expect(role.name).toBe('owner')
    const twin = start('twin', { url: 'http://a' })
    await time.pass(5_000)
    expect(twin.role.problem()).toBeNull()
    await time.pass(10_000)
    expect(twin.role.problem()).toBe('another node has the same NODE_URL, http://a; give each node its own address')
    expect(lines.filter((line) => line === 'twin error: NODE_URL is also used by another node')).toHaveLength(1)
  })
})
