import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { LibsqlCredentials } from '../../server/adapters/stores/libsql/credentials'
import { LibsqlPaymentClaims } from '../../server/adapters/stores/libsql/payment-claims'
import { directorySync } from '../../server/compose/cluster/cells/directory-sync'
import { CellClaims, type CellName } from '../../server/core/cluster/cells'
import { DirectoryCompleteness } from '../../server/core/cluster/directory-completeness'
import { makeId } from '../../server/core/ids'
import type { NewClaim } from '../../server/core/payments/claim'
import type { LinkAttempt } from '../../server/core/social/session'
import { accountId, apiKey, audit, NOON, openTestStores, type TestStores } from '../support/ledger-parts'
import { newClaim } from '../support/payments/payment-claim'

/** All other cells confirm that the directory has their records. */
const COMPLETE = { confirm: async () => undefined }
const QUIET = { info: () => undefined, error: () => undefined }

describe('with the accounts in two databases', () => {
  let main: TestStores
  let c2: TestStores
  let payments: Record<string, LibsqlPaymentClaims>
  let syncMain: () => Promise<void>
  let mainAnswers = false
  beforeAll(async () => {
    main = await openTestStores()
    syncMain = directorySync({ cell: 'main', contents: main.contents, records: main.directoryRecords, log: QUIET })
    let now = 0
    const ask = async () => (mainAnswers ? syncMain() : unreachable())
    const askMain = new DirectoryCompleteness({
      others: ['main'],
      ask,
      monotonic: () => (now += 10_000),
      witness: null,
    })
    c2 = await openTestStores({ control: main.stores, claims: new CellClaims(main.cells, 'c2', askMain) })
    const claims = new CellClaims(main.cells, 'main', COMPLETE)
    payments = { main: new LibsqlPaymentClaims(main.db, claims), c2: c2.paymentClaims }
  })
  afterAll(async () => {
    await c2.close()
    await main.close()
  })

  const take = async (cell: CellName, claim: NewClaim) => {
    const taken = await payments[cell]?.take(claim, NOON)
    if (!taken) throw new Error('no such cell')
    return taken
  }

  test('a payment that main served while it was alone is used, in every cell', async () => {
    const [served, open] = [newClaim(), newClaim()]
    for (const { key, ...claim } of [served, open]) {
      const taken = await main.paymentClaims.take({ key, ...claim }, NOON)
      if (taken.kind === 'refused') throw new Error('the claim was refused')
      if (key === open.key) continue
      await main.paymentClaims.settling(key, taken.attempt, NOON)
      await main.paymentClaims.settled(key, 'tx', NOON)
      await main.paymentClaims.served(key, NOON)
    }
    // Not before main has confirmed the records of what it took.
    expect(await take('c2', served).catch((error: unknown) => error)).toMatchObject({ unavailable: true })
    mainAnswers = true
    for (const claim of [served, open]) expect(await take('c2', claim)).toEqual({ kind: 'refused', why: 'in_use' })
    expect(await c2.paymentClaims.find(served.key)).toBeNull()
  })

  test('of attempts in both cells with one credential, in any order and at once, at most one is served', async () => {
    const cells = fc.array(fc.constantFrom('main', 'c2'), { minLength: 2, maxLength: 8 })
    await fc.assert(
      fc.asyncProperty(cells, fc.boolean(), async (asked, atOnce) => {
        const claim = newClaim()
        const results: Awaited<ReturnType<typeof take>>[] = []
        if (atOnce) results.push(...(await Promise.all(asked.map((cell) => take(cell, claim)))))
        else for (const cell of asked) results.push(await take(cell, claim))
        expect(results.filter(({ kind }) => kind === 'fresh')).toHaveLength(1)
        const found = await Promise.all(Object.values(payments).map((store) => store.find(claim.key)))
        expect(found.filter(Boolean)).toHaveLength(1)
      }),
      { numRuns: 30 },
    )
  })

  test('a released payment may be used again in its own cell, and in no other', async () => {
    const claim = newClaim()
    expect(await take('c2', claim)).toMatchObject({ kind: 'fresh' })
    await c2.paymentClaims.release(claim.key, 'test', false, NOON)
    expect(await take('main', claim)).toEqual({ kind: 'refused', why: 'in_use' })
    expect(await take('c2', claim)).toMatchObject({ kind: 'fresh', attempt: 2 })
  })

  test('a payment is not taken while the directory cannot be asked', async () => {
    const broken = { ofKey: unreachable, claimKey: unreachable, claimPayment: unreachable }
    const claim = newClaim()
    const store = new LibsqlPaymentClaims(c2.db, new CellClaims(broken, 'c2', COMPLETE))
    expect(await store.take(claim, NOON).catch((error: unknown) => error)).toBeInstanceOf(Unreachable)
    expect(await store.find(claim.key)).toBeNull()
  })

  test('a key, and the successor that replaces it, lead to their cell; those of main have no row', async () => {
    const [key, successor] = [apiKey(await c2.account()), apiKey('acct_none')]
    await c2.credentials.create(key, { limit: null, budget: null }, audit())
    const next = { ...successor, accountId: key.accountId, poolId: key.poolId, replaces: key.id }
    await c2.credentials.rotate(next, { ...key, replacedBy: next.id }, audit())
    for (const one of [key, next]) expect(await main.cells.ofKey(one.hash)).toBe('c2')
    expect(await main.cells.ofKey((await main.key(await main.account())).hash)).toBeNull()
    await new CellClaims(main.cells, 'main', COMPLETE).key('hash of main')
    expect(await main.cells.ofKey('hash of main')).toBeNull()
  })

  test('the state and the id of a social link lead to the cell of its key', async () => {
    const key = await c2.key(await c2.account())
    const link: LinkAttempt = {
      ...{ id: makeId('link', NOON), stateHash: 'hash of a state', scopes: ['users.read'], verifier: 'sealed' },
      ...{ poolId: key.poolId, accountId: key.accountId, keyId: key.id },
      ...{ createdAt: NOON, expiresAt: NOON + 600_000, usedAt: null, outcome: null },
    }
    await c2.social.addLink(link, audit())
    for (const name of [link.stateHash, link.id]) expect(await main.cells.ofKey(name)).toBe('c2')
  })

  test('what the directory lost comes back, and what two cells have is named and not decided', async () => {
    const said: unknown[] = []
    const log = { info: () => undefined, error: (line: string, more?: object) => said.push([line, more]) }
    const sync = directorySync({ cell: 'c2', contents: c2.contents, records: main.directoryRecords, log })
    const mine = await c2.account()
    const [lost, disputed] = [await c2.key(mine), await c2.key(mine)]
    const [paid, twice] = [newClaim(), newClaim()]
    for (const claim of [paid, twice]) await take('c2', claim)
    const revoked = { ...(await c2.key(mine)), revokedAt: NOON }
    await c2.credentials.update({ key: revoked }, audit())
    await main.db.run(sql`INSERT INTO cells (name, database_id, opened_at) VALUES ('c2', 'id', 0)`)
    await main.db.run(sql`DELETE FROM key_directory`)
    await main.db.run(sql`DELETE FROM payment_directory`)
    await main.cells.claimKey(disputed.hash, 'c3', null)
    expect(await take('main', twice)).toMatchObject({ kind: 'fresh' })
    const before = await main.cells.revision()
    await sync()
    expect(await main.cells.revision()).toBeGreaterThan(before)
    const keys = [lost, disputed, revoked].map(({ hash }) => main.cells.ofKey(hash))
    expect(await Promise.all(keys)).toEqual(['c2', 'c3', null])
    expect(await main.cells.ofAccount(mine)).toBe('c2')
    expect(await take('main', paid)).toEqual({ kind: 'refused', why: 'in_use' })
    const line = 'two cells claim the same record'
    expect(said).toEqual([
      [line, { cell: 'c2', what: 'payments', count: 1, first: twice.id }],
      [line, { cell: 'c2', what: 'keys', count: 1, first: disputed.id }],
    ])
  })

  test('keys behind tens of thousands that were revoked are added too, and those are not', async () => {
    const mine = await c2.account()
    const first = await c2.key(mine)
    const many = sql.raw(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
      SELECT printf('key_%032x', i), account_id, pool_id, printf('revoked %d', i), prefix, last4, printf('key %d', i), '[]', '[]', '[]', 0, 1
      FROM n JOIN keys k ON k.id = '${first.id}'`)
    const columns = sql.raw(
      'id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints, allowed_models',
    )
    await c2.db.run(sql`INSERT INTO keys (${columns}, created_at, revoked_at) ${many}`)
    await main.db.run(sql`DELETE FROM key_directory`)
    const sync = directorySync({ cell: 'c2', contents: c2.contents, records: main.directoryRecords, log: QUIET })
    await sync()
    expect([await main.cells.ofKey(first.hash), await main.cells.ofKey('revoked 7')]).toEqual(['c2', null])
  })

  test('a user who has accounts in two cells is named by the one that the directory does not lead to', async () => {
    const said: object[] = []
    const log = { info: () => undefined, error: (_: string, more?: object) => said.push(more ?? {}) }
    const here = await c2.account()
    const place = { userId: `user of ${here}`, mayBeOperator: false, createdAt: NOON, cells: ['main'] }
    await main.directory.assignHome({ accountId: accountId(), ...place })
    await directorySync({ cell: 'c2', contents: c2.contents, records: main.directoryRecords, log })()
    expect(said).toContainEqual({ cell: 'c2', what: 'accounts', count: 1, first: here })
  })

  test('a key whose commit failed leads to a cell that does not know it, and one without a row is never committed', async () => {
    const key = apiKey('acct_none') // of no account: the commit fails
    const create = (store: LibsqlCredentials, one: typeof key) =>
      store.create(one, { limit: null, budget: null }, audit()).then(
        () => 'created',
        () => 'failed',
      )
    expect(await create(c2.credentials, key)).toBe('failed')
    expect([await main.cells.ofKey(key.hash), await c2.credentials.byHash(key.hash)]).toEqual(['c2', null])
    const broken = { ofKey: unreachable, claimKey: unreachable, claimPayment: unreachable }
    const claims = new CellClaims(broken, 'c2', COMPLETE)
    const store = new LibsqlCredentials(c2.db, {
      ...{ groups: c2.journal, applied: c2.applied },
      settled: async () => undefined,
      claims,
    })
    const other = apiKey(await c2.account())
    expect(await create(store, other)).toBe('failed')
    const rows = await c2.db.all<unknown>(sql`SELECT 1 FROM keys WHERE hash = ${other.hash}`)
    expect(rows).toEqual([])
  })
})

class Unreachable extends Error {}

async function unreachable(): Promise<never> {
  throw new Unreachable('the directory does not answer')
}
