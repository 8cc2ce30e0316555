import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import { boundedFetch } from '../../../server/adapters/stores/libsql/driver/network/bounded-fetch'
import { appended } from '../../../server/core/ledger/journal'
import { openDatabaseProxy, type WireFault } from '../../support/databases/database-proxy'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { openHarness } from '../../support/harness'
import { audit, charge, openTestStores, type TestStores } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'

describe.skipIf(!hasSqld)('a libSQL server behind a bad network', () => {
  let database: Awaited<ReturnType<typeof openSqld>>
  let proxy: Awaited<ReturnType<typeof openDatabaseProxy>>
  const opened: TestStores[] = []
  beforeAll(async () => {
    database = await openSqld()
    proxy = await openDatabaseProxy(database.url)
  })
  afterEach(async () => {
    proxy.set('none')
    for (const stores of opened.splice(0)) await stores.close()
    expect((await reconcile(database.url)).problems).toEqual([])
  })
  afterAll(async () => {
    proxy.close()
    await database.close()
  })

  async function open(more: { patienceMs?: number; closeMs?: number } = {}) {
    const stores = await openTestStores({ url: proxy.url, ...more })
    opened.push(stores)
    return stores
  }
  const credit = async (stores: TestStores, id: string) =>
    Number((await stores.db.all<{ credit: number }>(`SELECT credit FROM accounts WHERE id = '${id}'`))[0]?.credit)
  /** Does what sends a request that meets the fault, the first or the first with this text; the wire is whole again once it did. */
  async function under<T>(fault: WireFault, act: () => Promise<T>, text?: string): Promise<T> {
    const before = proxy.seen.length
    proxy.set(fault, text)
    const [outcome] = await Promise.all([
      act(),
      until(() => proxy.seen.slice(before).includes(fault)).then(() => proxy.set('none')),
    ])
    return outcome
  }
  /** Appends a charge of 10. */
  const chargedUnder = (stores: TestStores, id: `acct_${string}`, fault: WireFault) =>
    under(fault, () => appended(stores.journal, charge(id, 10)))
  /** Does what writes to the audit log, and fails by the fault. */
  async function changedUnder(fault: 'answer lost' | 'late', change: () => Promise<unknown>): Promise<void> {
    expect(await under(fault, () => change().catch((error: unknown) => error), 'audit_log')).toBeInstanceOf(Error)
  }

  test('a key whose change was committed and whose answer was lost is as in the database from then on', async () => {
    const stores = await open()
    const key = await stores.key(await stores.account(100))
    const disabled = { ...key, disabledAt: 1 }
    await stores.credentials.update({ key: disabled }, audit())
    await changedUnder('answer lost', () => stores.credentials.update({ key }, audit()))
    expect(stores.credentials.known(key.hash)).toBeNull()
    // The owner disables it again: it must not count as disabled already.
    expect((await stores.credentials.byHash(key.hash))?.disabledAt).toBeNull()
    expect((await stores.credentials.byId(key.id))?.disabledAt).toBeNull()
    await stores.credentials.update({ key: disabled }, audit())
    expect((await stores.credentials.byHash(key.hash))?.disabledAt).toBe(1)
  })

  test('a change of a key that was refused is never committed, so that it undoes no later one', async () => {
    const stores = await open()
    const key = await stores.key(await stores.account(100))
    await changedUnder('late', () => stores.credentials.update({ key }, audit()))
    await stores.credentials.update({ key: { ...key, revokedAt: 1 } }, audit())
    expect((await proxy.letThrough()).join()).toContain('owner_epoch_is_current')
    expect(await stores.db.all(`SELECT revoked_at FROM keys WHERE id = '${key.id}'`)).toMatchObject([{ revoked_at: 1 }])
  })

  test('an account whose suspension was committed and whose answer was lost is suspended', async () => {
    const stores = await open()
    const account = await stores.accounts.byId(await stores.account(100))
    if (!account) throw new Error('no account')
    const suspension = { reason: 'Fraud.', at: 1, by: 'test' }
    const suspended = { ...account, suspension } as typeof account
    await changedUnder('answer lost', () => stores.accounts.update(suspended, audit()))
    expect((await stores.accounts.byId(account.id))?.suspension).toMatchObject({ reason: 'Fraud.' })
  })

  test('a role whose change was committed and whose answer was lost is read again', async () => {
    const gateway = await openHarness({ env: { DATABASE_URL: proxy.url, DATABASE_SYNC: 'promised' } })
    const account = await gateway.account()
    const { directory } = gateway.core.stores
    const actor = { kind: 'operator', id: 'test', address: null } as const
    await changedUnder('answer lost', () => gateway.core.operator.setRole(actor, account.id, 'support'))
    await until(() => directory.roleOf(account.id) === 'support')
    expect((await gateway.core.accounts.byId(account.id))?.support).toBe(true)
    await gateway.close()
  })

  test('a charge that was committed and whose answer was lost is found', async () => {
    const stores = await open()
    const account = await stores.account(100)
    expect(await chargedUnder(stores, account, 'answer lost')).toEqual({ kind: 'committed' })
    expect(await credit(stores, account)).toBe(90)
  })

  test('a charge that reaches the database twice is committed once, and counts as committed', async () => {
    const stores = await open()
    const account = await stores.account(100)
    expect(await chargedUnder(stores, account, 'twice')).toEqual({ kind: 'committed' })
    expect(await credit(stores, account)).toBe(90)
    expect(await stores.db.all('SELECT * FROM stuck_records')).toEqual([])
  })

  test('a charge whose answer is one to an earlier charge is not taken for committed', async () => {
    const stores = await open()
    const account = await stores.account(100)
    expect(await appended(stores.journal, charge(account, 10))).toEqual({ kind: 'committed' })
    expect(await chargedUnder(stores, account, 'old answer')).toMatchObject({ kind: 'refused' })
    expect(await credit(stores, account)).toBe(90)
  })

  test('a charge reported as refused is never committed, however late its request reaches the database', async () => {
    const stores = await open()
    const account = await stores.account(100)
    expect(await chargedUnder(stores, account, 'late')).toMatchObject({ kind: 'refused' })
    expect((await proxy.letThrough()).join()).toContain('owner_epoch_is_current')
    expect(await credit(stores, account)).toBe(100)
    // It goes on, and neither its own fence nor what waited behind the lost group takes it for another process.
    expect(await appended(stores.journal, charge(account, 10))).toEqual({ kind: 'committed' })
    expect([await credit(stores, account), stores.fatal]).toEqual([90, []])
  })

  test('while it is fenced off, a process whose successor has started commits nothing', async () => {
    const stores = await open()
    const account = await stores.account(100)
    proxy.set('late')
    const before = proxy.seen.length
    const outcome = appended(stores.journal, charge(account, 10))
    await until(() => proxy.seen.slice(before).includes('late'))
    const successor = await openTestStores({ url: database.url })
    proxy.set('none')
    expect((await outcome).kind).not.toBe('committed')
    expect(await appended(stores.journal, charge(account, 10))).not.toEqual({ kind: 'committed' })
    expect(stores.fatal.join()).toContain('another process owns the database now')
    await proxy.letThrough()
    expect(await credit(successor, account)).toBe(100)
    await successor.close()
  })

  test('a request that hangs does not delay the end, which closes the connection', async () => {
    // Opened by a patient one: 50 ms may not do for a commit that is to succeed.
    const patient = await open()
    const account = await patient.account(100)
    await patient.close()
    const stores = await open({ closeMs: 100, patienceMs: 50 })
    proxy.set('hangs')
    expect((await appended(stores.journal, charge(account, 10))).kind).toBe('unknown')
    opened.splice(0)
    await stores.close()
    expect(stores.trouble.join()).toContain('the database did not answer in 100 ms')
  })

  test('an answer that decompresses to a gigabyte is refused before it is decompressed', async () => {
    const stores = await open()
    const account = await stores.account(100)
    expect(await chargedUnder(stores, account, 'bomb')).toMatchObject({
      kind: 'refused',
      reason: expect.stringContaining('encoding gzip'),
    })
  })

  test('an answer without end is read up to its limit, and one that never comes is abandoned', async () => {
    const server = Bun.serve({
      port: 0,
      fetch: ({ url }) =>
        url.endsWith('/silent')
          ? new Promise<Response>(() => undefined)
          : new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) })),
    })
    const ask = (path: string, deadlineMs: number) =>
      boundedFetch({ deadlineMs, maxBytes: 1_000_000 })(new Request(server.url + path))
    await expect(ask('', 30_000)).rejects.toThrow('more than 1000000 bytes')
    await expect(ask('silent', 200)).rejects.toThrow('timed out')
    await server.stop(true)
  })
})
