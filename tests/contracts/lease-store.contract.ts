import { expect, test } from 'bun:test'
import type { LeaseStore, NodeFacts } from '../../server/core/cluster/leases'

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
export function leaseStoreContract(open: () => Promise<OpenLeases>): void {
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
    expect(leases.take(A)).rejects.toThrow('SECRET_KEY of the other nodes changed while this one was away')
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

  test('the two newest keys of hops are kept', async () => {
    const { leases } = await open()
    await leases.join(A, {})
    for (const id of ['1', '2', '3']) await leases.addHopKey({ id, value: `key ${id}` })
    expect((await leases.look()).hopKeys.map(({ value }) => value)).toEqual(['key 3', 'key 2'])
  })
}
