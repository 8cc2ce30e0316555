import { expect, test } from 'bun:test'
import type { LeaseStore, NodeFacts } from '../../server/core/cluster/leases'
import { oneCellLeases } from '../support/cluster/one-cell-leases'

const A: NodeFacts = { id: 'node_a', url: 'http://127.0.0.1:1', version: '0.2.0', zones: 'zones of a', skewMs: 0 }
const B: NodeFacts = { ...A, id: 'node_b', url: 'http://127.0.0.1:2' }

interface OpenLeases {
  readonly leases: LeaseStore
  /** Lets the time of the lease pass. */
  expire(): Promise<void>
  /** Sets the clock of the store back by so much. */
  setBack(ms: number): Promise<void>
}

/** What every store of leases must do. */
export function leaseStoreContract(openLeases: () => Promise<OpenLeases>): void {
  const open = async () => {
    const opened = await openLeases()
    return { ...opened, leases: oneCellLeases(opened.leases) }
  }

  test('one of many that want the lease gets it, and the owner is seen by all', async () => {
    const { leases } = await open()
    await leases.join(A, {})
    await leases.join(B, {})
    expect((await leases.look()).owner).toBeNull()
    const terms = await Promise.all([leases.take(A), leases.take(B), leases.take(B)])
    expect(terms.filter((term) => term !== null)).toEqual([1])
    const owner = terms[0] === 1 ? A : B
    expect((await leases.look()).owner).toMatchObject({ nodeId: owner.id, url: owner.url, term: 1 })
  })

  test('a lease is taken above the term that is asked for, and never below its own', async () => {
    const { leases, expire } = await openLeases()
    await leases.join(A, {})
    expect(await leases.take('c2', A, 7)).toBe(8)
    await expire()
    expect(await leases.take('c2', A, 3)).toBe(9)
    await expire()
    expect(await leases.take('c2', A, 20)).toBe(21)
  })

  test('a lease can be renewed by its owner alone, and taken when its time is over, with a higher term', async () => {
    const { leases, expire } = await open()
    await leases.join(A, {})
    expect(await leases.take(A)).toBe(1)
    expect([await leases.renew(A.id, 1), await leases.renew(A.id, 2), await leases.renew(B.id, 1)]).toEqual([
      true,
      false,
      false,
    ])
    expect(await leases.take(B)).toBeNull()
    await expire()
    expect((await leases.look()).owner).toBeNull()
    // Nobody took it meanwhile: it is still A's.
    expect(await leases.renew(A.id, 1)).toBe(true)
    expect(await leases.take(B)).toBeNull()
    await expire()
    expect(await leases.take(B)).toBe(2)
    expect(await leases.renew(A.id, 1)).toBe(false)
    // A late release of the old owner changes nothing.
    await leases.release(A.id, 1)
    expect((await leases.look()).owner?.nodeId).toBe(B.id)
  })

  test('a released lease is free at once, and a renewal that was late does not bring it back', async () => {
    const { leases } = await open()
    await leases.join(A, {})
    await leases.take(A)
    await leases.release(A.id, 1)
    expect((await leases.look()).owner).toBeNull()
    expect(await leases.renew(A.id, 1)).toBe(false)
    expect((await leases.look()).owner).toBeNull()
    expect(await leases.take(B)).toBe(2)
  })

  test('a clock that is set back by an hour keeps nobody out for an hour, and no owner from renewing', async () => {
    const { leases, setBack } = await open()
    await leases.join(A, { SECRET_KEY: 'one' })
    expect(await leases.take(A)).toBe(1)
    await setBack(5_000)
    expect([(await leases.look()).owner?.nodeId, await leases.take(B)]).toEqual([A.id, null])
    await setBack(3_600_000)
    expect([(await leases.look()).owner, (await leases.nodes()).map(({ isLive }) => isLive)]).toEqual([null, [false]])
    expect(await leases.renew(A.id, 1)).toBe(true)
    expect([(await leases.look()).owner?.nodeId, await leases.take(B)]).toEqual([A.id, null])
    await setBack(3_600_000)
    expect(await leases.join(B, { SECRET_KEY: 'other' })).toEqual([])
    expect(await leases.take(B)).toBe(2)
  })

  test('a node with other secrets is not registered while another one lives', async () => {
    const { leases, expire } = await open()
    expect(await leases.join(A, { SECRET_KEY: 'one', BASE_URL: 'same' })).toEqual([])
    expect(await leases.join(B, { SECRET_KEY: 'other', BASE_URL: 'same' })).toEqual(['SECRET_KEY'])
    expect((await leases.nodes()).map(({ id }) => id)).toEqual([A.id])
    await expire()
    expect(await leases.join(B, { SECRET_KEY: 'other', BASE_URL: 'same' })).toEqual([])
    expect(await leases.join(A, { SECRET_KEY: 'one' })).toEqual(['SECRET_KEY'])
    // A was away, and still has the old one.
    expect(leases.take(A)).rejects.toThrow('SECRET_KEY of the other nodes changed while this node was disconnected')
    expect((await leases.look()).owner).toBeNull()
    expect(await leases.take(B)).toBe(1)
  })

  test('a node is live as long as it says so', async () => {
    const { leases, expire } = await open()
    await leases.join(A, {})
    await expire()
    await leases.join({ ...B, skewMs: 5 }, {})
    const live = async () => Object.fromEntries((await leases.nodes()).map(({ id, isLive }) => [id, isLive]))
    expect(await live()).toEqual({ [A.id]: false, [B.id]: true })
    await leases.beat(A)
    expect(await live()).toEqual({ [A.id]: true, [B.id]: true })
    await leases.leave(B.id)
    expect(await live()).toEqual({ [A.id]: true })
    // The next process at the same address: what died there is forgotten, what lives is not.
    await leases.join({ ...A, id: 'node_c' }, {})
    await expire()
    await leases.join({ ...A, id: 'node_d' }, {})
    expect(await live()).toEqual({ node_d: true })
  })

  test('each node says which time zones it knows, and all see those of the owner', async () => {
    const { leases } = await open()
    await leases.join(A, {})
    await leases.join({ ...B, zones: 'zones of b' }, {})
    const zones = async () => Object.fromEntries((await leases.nodes()).map((node) => [node.id, node.zones]))
    expect(await zones()).toEqual({ [A.id]: A.zones, [B.id]: 'zones of b' })
    await leases.take(B)
    expect((await leases.look()).owner).toMatchObject({ nodeId: B.id, zones: 'zones of b' })
    await leases.leave(A.id)
    await leases.join({ ...A, zones: null }, {})
    expect(await zones()).toEqual({ [A.id]: null, [B.id]: 'zones of b' })
  })

  test('a node finds what all had written, and its own words say whether they are still those that it knows', async () => {
    const { leases, expire } = await openLeases()
    await leases.join(A, {})
    await leases.join(B, {})
    const attest = async (node: NodeFacts, before: readonly string[], at: string) =>
      Object.fromEntries(
        [...(await leases.attest(node.id, before, { kept: `kept ${at}`, restarted: `anew ${at}` }))].map(
          ([id, { text, isRecent }]) => [id, isRecent ? text : `long ago: ${text}`],
        ),
      )
    expect(await attest(A, [], '1')).toEqual({})
    expect(await attest(B, ['kept 0'], '2')).toEqual({ [A.id]: 'anew 1' })
    expect(await attest(A, ['kept 0', 'anew 1'], '3')).toEqual({ [A.id]: 'anew 1', [B.id]: 'anew 2' })
    expect(await attest(A, ['anew 1'], '4')).toEqual({ [A.id]: 'kept 3', [B.id]: 'anew 2' })
    await leases.leave(B.id)
    expect(await attest(A, [], '5')).toEqual({ [A.id]: 'anew 4' })
    await expire()
    expect(await attest(A, ['anew 5'], '6')).toEqual({ [A.id]: 'long ago: anew 5' })
    expect(await attest(A, ['anew 6'], '7')).toEqual({ [A.id]: 'anew 6' })
    expect(await attest(A, [], '8')).toEqual({ [A.id]: 'kept 7' })
  })

  test('the two newest keys of hops are kept', async () => {
    const { leases } = await open()
    await leases.join(A, {})
    for (const id of ['1', '2', '3']) await leases.addHopKey({ id, value: `key ${id}` })
    expect((await leases.look()).hopKeys.map(({ value }) => value)).toEqual(['key 3', 'key 2'])
  })

  test('each cell has a lease of its own, and a node renews all that it has at once', async () => {
    const { leases, expire } = await openLeases()
    await leases.join(A, {})
    await leases.join(B, {})
    expect([await leases.take('main', A), await leases.take('c2', B), await leases.take('c2', A)]).toEqual([1, 1, null])
    expect([await leases.take('c3', B), await leases.take('c4', A)]).toEqual([1, 1])
    const owners = async () => [...(await leases.look()).owners].map(([cell, { nodeId }]) => [cell, nodeId]).sort()
    expect(await owners()).toEqual([
      ['c2', B.id],
      ['c3', B.id],
      ['c4', A.id],
      ['main', A.id],
    ])
    expect((await leases.look()).owners.get('c2')).toMatchObject({ cell: 'c2', url: B.url, term: 1, zones: B.zones })
    await expire()
    const held = [
      { cell: 'c2', term: 1 },
      { cell: 'c3', term: 2 },
      { cell: 'main', term: 1 },
    ]
    // Not the one of a wrong term, and not the one of another node.
    expect([...(await leases.renew(B.id, held))]).toEqual(['c2'])
    expect(await owners()).toEqual([['c2', B.id]])
    await leases.release(B.id, { cell: 'main', term: 1 })
    await leases.release(B.id, { cell: 'c2', term: 1 })
    expect([await owners(), await leases.take('c2', A)]).toEqual([[], 2])
  })

  test('a lease that was evicted is not renewed, and nobody else takes it before it runs out or is given back', async () => {
    const { leases, expire } = await openLeases()
    const held = { cell: 'c2', term: 1 }
    await leases.join(A, {})
    await leases.take('c2', A)
    await leases.evict({ cell: 'c2', term: 9 })
    expect([...(await leases.renew(A.id, [held]))]).toEqual(['c2'])
    await leases.evict(held)
    expect([[...(await leases.renew(A.id, [held]))], await leases.take('c2', B)]).toEqual([[], null])
    await expire()
    expect([[...(await leases.renew(A.id, [held]))], await leases.take('c2', B)]).toEqual([[], 2])
    expect([...(await leases.renew(B.id, [{ cell: 'c2', term: 2 }]))]).toEqual(['c2'])
  })

  test('nodes that live say which cells they can take; one that let a lease run out is not among them', async () => {
    const { leases, expire } = await openLeases()
    await leases.join(A, {})
    await leases.join(B, {})
    // One that knows no cells but `main`, as an older version.
    await leases.join({ ...A, id: 'node_old', url: 'http://127.0.0.1:3' }, {})
    await leases.beat(A, ['main', 'c2'])
    await leases.beat(B, ['c2'])
    const offers = async () =>
      [...(await leases.look()).offers]
        .sort((a, b) => (a.nodeId < b.nodeId ? -1 : 1))
        .map((each) => Object.values(each))
    expect(await offers()).toEqual([
      [A.id, A.url, ['main', 'c2']],
      [B.id, B.url, ['c2']],
    ])
    await leases.beat(B, [])
    await leases.take('main', A)
    await leases.take('c2', B)
    await expire()
    await leases.beat(A, ['main'])
    await leases.beat(B, ['main', 'c2'])
    expect(await offers()).toEqual([])
    expect(await leases.take('c2', A)).toBe(2)
    expect(await offers()).toEqual([[B.id, B.url, ['main', 'c2']]])
    await leases.take('main', A)
    await leases.leave(B.id)
    expect(await offers()).toEqual([[A.id, A.url, ['main']]])
  })

  test('one hand-over is planned at a time, and done when the cell is taken; a pin stays as long as its node lives', async () => {
    const { leases, expire } = await openLeases()
    await leases.join(A, {})
    await leases.join(B, {})
    const plans = async () =>
      [...(await leases.look()).plans].map(([cell, { nodeId, isPinned }]) => [cell, nodeId, isPinned]).sort()
    expect([await leases.plan('c2', A.id, false), await leases.plan('c3', A.id, false)]).toEqual([true, false])
    expect([await plans(), await leases.plan('c3', B.id, true)]).toEqual([[['c2', A.id, false]], true])
    // It does not matter who takes it.
    await leases.take('c2', B)
    await leases.take('c3', B)
    expect(await plans()).toEqual([['c3', B.id, true]])
    expect(await leases.plan('c2', A.id, false)).toBe(true)
    // An operator decides, whatever was planned.
    expect([await leases.plan('c2', B.id, true), await plans()]).toEqual([
      true,
      [
        ['c2', B.id, true],
        ['c3', B.id, true],
      ],
    ])
    await expire()
    expect(await plans()).toEqual([])
    await leases.beat(B)
    expect((await plans()).length).toBe(2)
    await leases.leave(B.id)
    expect(await plans()).toEqual([])
  })
}
