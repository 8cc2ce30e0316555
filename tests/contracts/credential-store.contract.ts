import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { Allowlist } from '../../server/core/credentials/allowlist'
import type { ApiKey } from '../../server/core/credentials/api-key'
import type { KeyQuery } from '../../server/core/credentials/key-lists'
import type { CredentialStore } from '../../server/core/credentials/store'
import type { AccountId, PoolId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import type { Page } from '../../server/core/page'
import { apiKey, audit, NOON } from '../support/ledger-parts'

export interface CredentialsUnderTest {
  readonly store: CredentialStore
  account(): Promise<AccountId>
  /** The durable state of a pool. */
  pool(id: PoolId): Promise<{ limit: number | null; spent: number } | null>
  /** A charge on a pool, as the ledger writes it. */
  spend(account: AccountId, pool: PoolId, amount: number): Promise<void>
  audited(action: string): Promise<number>
  /** The same store after a restart on what was durable. */
  reopened(): Promise<CredentialStore>
  close(): Promise<void>
}

/** The rules of every credential store. */
export function credentialStoreContract(name: string, open: () => Promise<CredentialsUnderTest>): void {
  describe(`credential store: ${name}`, () => {
    let parts: CredentialsUnderTest
    beforeAll(async () => {
      parts = await open()
    })
    afterAll(() => parts.close())
    // Not expect().rejects: it turns the event loop by itself, and a worker's answer may not come through.
    const outcome = [() => 'resolved', () => 'rejected'] as const
    const noLimit = { limit: null, budgets: [] }

    test('finds a key by its hash and by its id as soon as it is created, and not before', async () => {
      const key = apiKey(await parts.account())
      expect(await parts.store.byHash(key.hash)).toBeNull()
      expect(parts.store.known(key.hash)).toBeNull()
      await parts.store.create(key, noLimit, audit())
      expect(parts.store.known(key.hash)).toEqual(key)
      expect(await parts.store.byHash(key.hash)).toEqual(key)
      expect(await parts.store.byId(key.id)).toEqual(key)
      expect(await parts.store.byHash(key.hash.replace(/^./, 'x'))).toBeNull()
    })

    test('gives the keys of one account, newest first', async () => {
      const [mine, theirs] = [await parts.account(), await parts.account()]
      const keys = Array.from({ length: 3 }, () => apiKey(mine))
      for (const key of [...keys, apiKey(theirs)]) await parts.store.create(key, noLimit, audit())
      expect((await parts.store.byAccount(mine)).map((key) => key.id)).toEqual(keys.map((key) => key.id).reverse())
      expect(await parts.store.byAccount('acct_none')).toEqual([])
    })

    test('counts the live keys of one account, and names the pools of those with a name', async () => {
      const [mine, theirs] = [await parts.account(), await parts.account()]
      const make = async (change: Partial<ApiKey>, account = mine) => {
        const key = { ...apiKey(account), ...change }
        await parts.store.create(key, noLimit, audit())
        return key
      }
      const plain = await make({ name: 'a' })
      await make({ name: 'b', disabledAt: NOON })
      await make({ name: 'c', expiresAt: NOON - 1 })
      await make({ name: 'a', revokedAt: NOON })
      const replaced = await make({ name: 'd', replacedBy: 'key_next', stopsAt: NOON + 1 })
      await make({ name: 'e', replacedBy: 'key_next', stopsAt: NOON })
      await make({ name: 'a' }, theirs)
      const of = (name: string | null) => parts.store.liveKeys(mine, name, NOON)
      expect(await of('a')).toEqual({ own: 3, replaced: 1, poolsOfName: [plain.poolId] })
      expect(await of('d')).toEqual({ own: 3, replaced: 1, poolsOfName: [replaced.poolId] })
      for (const name of ['e', 'A', null]) expect((await of(name)).poolsOfName).toEqual([])
      expect(await parts.store.liveKeys('acct_none', 'a', NOON)).toEqual({ own: 0, replaced: 0, poolsOfName: [] })
    })

    test('lists keys by status, text, tag and id, in any order, in pages that neither overlap nor miss one', async () => {
      const account = await parts.account()
      const make = async (change: Partial<ApiKey>, limit: number | null = null) => {
        const key = { ...apiKey(account), ...change }
        await parts.store.create(key, { limit: limit === null ? null : micros(limit), budgets: [] }, audit())
        return key.id
      }
      const plain = await make({ name: 'Plain', tags: ['a'] })
      const off = await make({ name: 'off', disabledAt: NOON, expiresAt: NOON - 1, tags: ['a', 'b'] })
      const late = await make({ name: 'LÄTE', expiresAt: NOON })
      const spentUp = await make({ name: 'spent' }, 0)
      const gone = await make({ name: 'plain', revokedAt: NOON, tags: ['a'] })
      const replaced = await make({ name: 'replaced', replacedBy: plain, stopsAt: NOON })
      const grace = await make({ name: 'grace', replacedBy: plain, stopsAt: NOON + 1, last4: '50%_' })
      await parts.store.create(apiKey(await parts.account(), { name: 'plain' }), noLimit, audit())
      const { lists } = parts.store
      const ids = async (query: Partial<KeyQuery> = {}) => {
        const found: string[] = []
        let after: string | null = null
        do {
          const asked: KeyQuery = { among: 'live', sort: 'created', order: 'asc', ...query }
          const page: Page<ApiKey> | null = await lists.page(account, asked, NOON, { limit: 2, after })
          found.push(...(page?.rows ?? []).map(({ id }) => id))
          after = page?.next ?? null
        } while (after !== null)
        return found
      }
      expect(await ids()).toEqual([plain, off, late, spentUp, grace])
      expect(await ids({ among: 'all', order: 'desc' })).toEqual([grace, replaced, gone, spentUp, late, off, plain])
      for (const [among, wanted] of [
        ['active', [plain, grace]],
        ['disabled', [off]],
        ['expired', [late]],
        ['exhausted', [spentUp]],
        ['revoked', [gone, replaced]],
      ] as const)
        expect(await ids({ among })).toEqual([...wanted])
      expect(await ids({ sort: 'name' })).toEqual([grace, late, off, plain, spentUp])
      expect(await ids({ sort: 'status', order: 'desc' })).toEqual([spentUp, late, off, grace, plain])
      for (const sort of ['spent', 'last_used'] as const) expect((await ids({ sort })).length).toBe(5)
      expect(await ids({ q: 'PLAIN' })).toEqual([plain])
      expect(await ids({ q: 'läte' })).toEqual([late])
      expect(await ids({ q: '50%_' })).toEqual([grace])
      expect(await ids({ q: '%' })).toEqual([])
      expect(await ids({ tag: 'a' })).toEqual([plain, off])
      expect(await ids({ tag: 'a', among: 'all' })).toEqual([plain, off, gone])
      expect(await ids({ id: off })).toEqual([off])
      expect(
        await lists.page(account, { among: 'live', sort: 'name', order: 'asc' }, NOON, { limit: 2, after: 'key_x' }),
      ).toBe(null)
      const counts = { active: 2, disabled: 1, expired: 1, exhausted: 1, revoked: 2 }
      const tags = [
        { name: 'a', keys: 2 },
        { name: 'b', keys: 1 },
      ]
      expect(await lists.summary(account, {}, NOON)).toEqual({ counts, tags })
      const found = { active: 1, disabled: 0, expired: 0, exhausted: 0, revoked: 1 }
      expect((await lists.summary(account, { q: 'plain' }, NOON)).counts).toEqual(found)
      expect((await lists.names(account)).map(({ id }) => id)).toEqual([
        grace,
        replaced,
        gone,
        spentUp,
        late,
        off,
        plain,
      ])
      expect((await lists.byIds(account, [off, gone, 'key_x'])).map(({ id }) => id).sort()).toEqual([off, gone].sort())
      expect([...(await lists.withTag(account, 'a'))].sort()).toEqual([plain, off, gone].sort())
    })

    test('lists each pool once, by its newest live key, or by its newest key where the pool is asked for', async () => {
      const account = await parts.account()
      const [rotated, revoked, other] = [apiKey(account), apiKey(account, { revokedAt: NOON }), apiKey(account)]
      for (const key of [rotated, revoked, other]) await parts.store.create(key, noLimit, audit())
      const successor = apiKey(account, { poolId: rotated.poolId, replaces: rotated.id })
      await parts.store.rotate(successor, { ...rotated, replacedBy: successor.id, stopsAt: NOON + 5 }, audit())
      const ids = async (...pools: PoolId[]) =>
        (await parts.store.lists.ofPools(account, pools, NOON)).map(({ id }) => id)
      expect(await ids()).toEqual([successor.id, other.id])
      expect(await ids(revoked.poolId, other.poolId)).toEqual([successor.id, other.id, revoked.id])
    })

    test('applies a change from the next look-up on: the old record is seen nowhere', async () => {
      const key = apiKey(await parts.account())
      await parts.store.create(key, noLimit, audit())
      const changed = {
        ...key,
        name: 'renamed',
        disabledAt: NOON + 1,
        allowedIps: ['::1'],
        allowlist: Allowlist.of(['::1']),
      }
      await parts.store.update({ key: changed }, audit())
      expect(parts.store.known(key.hash)).toEqual(changed)
      expect(await parts.store.byHash(key.hash)).toEqual(changed)
      expect(await parts.store.byId(key.id)).toEqual(changed)
      expect(await parts.store.byAccount(key.accountId)).toEqual([changed])
    })

    test('changes the limit of a pool and keeps what was spent, also during charges', async () => {
      const key = apiKey(await parts.account())
      await parts.store.create(key, { limit: micros(1000), budgets: [] }, audit())
      const charges = Array.from({ length: 20 }, () => parts.spend(key.accountId, key.poolId, 5))
      await parts.store.update({ key, pool: { limit: micros(50) } }, audit())
      await Promise.all(charges)
      expect(await parts.pool(key.poolId)).toEqual({ limit: 50, spent: 100 })
      await parts.store.update({ key, pool: { limit: null } }, audit())
      expect(await parts.pool(key.poolId)).toEqual({ limit: null, spent: 100 })
    })

    test('keeps a budget until it is removed; another change leaves it alone', async () => {
      const key = apiKey(await parts.account())
      const budget = { limitUsd: 5, period: 'week', timezone: 'Europe/Berlin' } as const
      await parts.store.create(key, { limit: null, budgets: [budget] }, audit())
      await parts.store.update({ key, pool: { limit: micros(1) } }, audit())
      expect(await parts.store.budgetsOf(key.poolId)).toEqual([budget])
      await parts.store.update({ key, pool: { budgets: [] } }, audit())
      expect(await parts.store.budgetsOf(key.poolId)).toEqual([])
    })

    test('rotates in one batch: both keys are valid, on one pool, with what was spent', async () => {
      const key = apiKey(await parts.account(), { name: 'rotated' })
      await parts.store.create(key, { limit: micros(100), budgets: [] }, audit())
      const charged = parts.spend(key.accountId, key.poolId, 30)
      const successor = { ...apiKey(key.accountId), name: key.name, poolId: key.poolId, replaces: key.id }
      await parts.store.rotate(successor, { ...key, replacedBy: successor.id, stopsAt: NOON + 5 }, audit())
      await charged
      expect((await parts.store.byHash(successor.hash))?.poolId).toBe(key.poolId)
      expect((await parts.store.byHash(key.hash))?.replacedBy).toBe(successor.id)
      expect(await parts.pool(key.poolId)).toEqual({ limit: 100, spent: 30 })
    })

    test('that cannot write rejects, and nothing changed: neither its answers nor the durable state', async () => {
      const account = await parts.account()
      const [one, two] = [apiKey(account), apiKey(account)]
      await parts.store.create(one, noLimit, audit())
      const before = await parts.audited('twice')
      expect(await parts.store.create({ ...two, hash: one.hash }, noLimit, audit('twice')).then(...outcome)).toBe(
        'rejected',
      )
      expect(await parts.store.create({ ...two, name: one.name }, noLimit, audit('twice')).then(...outcome)).toBe(
        'rejected',
      )
      expect(
        await parts.store.create({ ...two, accountId: 'acct_none' }, noLimit, audit('twice')).then(...outcome),
      ).toBe('rejected')
      expect(await parts.store.byId(two.id)).toBeNull()
      expect(await parts.store.byHash(one.hash)).toEqual(one)
      expect(await parts.pool(two.poolId)).toBeNull()
      expect(await parts.audited('twice')).toBe(before)
    })

    test('writes one audit entry with each change', async () => {
      const key = apiKey(await parts.account())
      await parts.store.create(key, noLimit, audit('audited'))
      await parts.store.update({ key: { ...key, disabledAt: NOON } }, audit('audited'))
      expect(await parts.audited('audited')).toBe(2)
    })

    test('has the same state after a restart: keys, order, budgets, and the last use', async () => {
      const account = await parts.account()
      const keys = [
        apiKey(account, { allowedIps: ['10.0.0.0/8'], allowlist: Allowlist.of(['10.0.0.0/8']) }),
        apiKey(account),
      ]
      const budget = { limitUsd: 0.5, period: 'day', timezone: 'UTC' } as const
      for (const key of keys) await parts.store.create(key, { limit: null, budgets: [budget] }, audit())
      const [first] = keys
      if (!first) throw new Error('no key')
      expect(await parts.store.lastUsedAt(first.id)).toBeNull()
      parts.store.touch(first.id, NOON + 7)
      expect(await parts.store.lastUsedAt(first.id)).toBe(NOON + 7)
      const again = await parts.reopened()
      expect(await again.byAccount(account)).toEqual([...keys].reverse())
      expect(await again.byHash(first.hash)).toEqual(first)
      expect(await again.budgetsOf(first.poolId)).toEqual([budget])
      expect(await again.lastUsedAt(first.id)).toBe(NOON + 7)
    })
  })
}
