import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LoadedHolds } from '../../server/adapters/stores/memory/loaded-holds'
import type { Actor, AuditEntry } from '../../server/core/audit'
import { type ApiKey, KEY_DEFAULTS } from '../../server/core/credentials/api-key'
import { newSecret } from '../../server/core/credentials/secret'
import { type AccountId, makeId, type PoolId, type RequestId } from '../../server/core/ids'
import type { BalancePart, LedgerEntry } from '../../server/core/ledger/entry'
import { appended, type JournalRecord } from '../../server/core/ledger/journal'
import { micros } from '../../server/core/money'
import { type CallRecord, NO_TOKENS } from '../../server/core/usage/call-record'
import { openFile } from './databases/database-file'
import { writeMigratedDatabase } from './databases/migrated-database'
import { openStores, type StoreOptions } from './databases/open-stores'
import { endTestDatabase, testDatabase } from './databases/test-database'
import { TEST_THREADS } from './test-threads'

/** The time that made-up records carry. */
export const NOON = Date.UTC(2026, 10, 21, 12, 0, 0)
const ACTOR: Actor = { kind: 'operator', id: 'test', address: null }

export const accountId = (): AccountId => makeId('acct', NOON)
export const poolId = (): PoolId => makeId('pool', NOON)
export const requestId = (): RequestId => makeId('req', NOON)
/** The i-th id of that time. `makeId` never goes back in time: after ids of a later time it would give ids of that time. */
export const requestIdAt = (at: number, i: number): RequestId =>
  `req_${at.toString(16).padStart(12, '0')}${i.toString(16).padStart(20, '0')}`

export function audit(action = 'test'): AuditEntry {
  return {
    id: makeId('audit', NOON),
    at: NOON,
    actor: ACTOR,
    accountId: null,
    keyId: null,
    action,
    detail: {},
    before: null,
  }
}

export function apiKey(accountId: AccountId, more: Partial<ApiKey> = {}): ApiKey {
  const { secret: _secret, ...shown } = newSecret()
  return {
    ...shown,
    id: makeId('key', NOON),
    accountId,
    poolId: makeId('pool', NOON),
    name: `key ${shown.hash.slice(0, 12)}`,
    ...KEY_DEFAULTS,
    createdAt: NOON,
    createdBy: null,
    disabledAt: null,
    revokedAt: null,
    stopsAt: null,
    replaces: null,
    replacedBy: null,
    endpointsAt: null,
    allowlist: null,
    ...more,
  }
}

/** The stored answer of so many bytes that a charge paid for; each `i` is another key. */
export function keptAnswer(account: AccountId, i: number, bytes: number) {
  return {
    account,
    operation: 'image-search',
    key: `key ${i}`,
    fingerprint: 'f',
    state: 'kept' as const,
    requestId: requestId(),
    body: 'x'.repeat(bytes),
    headers: {},
    at: 1,
  }
}

/** A successful call that costs `cost`; with a cost of null, one that was not charged. */
export function call(accountId: AccountId, cost: number | null, more: Partial<CallRecord> = {}): CallRecord {
  return {
    id: requestId(),
    clientRequestId: null,
    accountId,
    keyId: 'key_test',
    operation: 'image-search',
    counted: true,
    at: NOON,
    status: cost === null ? 502 : 200,
    code: cost === null ? 'upstream_error' : null,
    latencyMs: 7,
    address: '192.0.2.1',
    tokens: NO_TOKENS,
    charged: cost === null ? null : { cost: micros(cost), priceVersion: '2.0.0', units: 1, unitPrice: micros(cost) },
    ...more,
  }
}

export function entry(account: AccountId, amount: number, more: Partial<LedgerEntry>): LedgerEntry {
  return {
    transaction: makeId('txn', NOON),
    kind: 'grant',
    accountId: account,
    debit: 'house/grants',
    credit: `${account}/credit`,
    amount: micros(amount),
    at: NOON,
    requestId: null,
    description: 'test',
    reference: null,
    ...more,
  }
}

/** The ledger's entry for a charge from one part of the balance. */
export function charge(
  account: AccountId,
  amount: number,
  more: { call?: CallRecord; part?: BalancePart; pool?: PoolId } = {},
): JournalRecord {
  const part = more.part ?? 'credit'
  const record = more.call ?? call(account, amount)
  return {
    call: record,
    entries: [
      entry(account, amount, {
        kind: 'charge',
        debit: `${account}/${part}`,
        credit: 'house/revenue',
        requestId: record.id,
      }),
    ],
    change: { accountId: account, credit: 0, paid: 0, toppedUp: 0, [part]: -amount },
    ...(more.pool && { spent: { poolId: more.pool, amount } }),
  }
}

/** The ledger's entry for the opening of an account with its first credit. */
export function opening(account: AccountId, amount: number, reference = `opening:${account}`): JournalRecord {
  return {
    opening: { id: account, userId: `user of ${account}`, createdAt: NOON },
    entries: [entry(account, amount, { kind: 'signup_credit', debit: 'house/signup_credit', reference })],
    change: { accountId: account, credit: amount, paid: 0, toppedUp: 0 },
  }
}

export type TestStores = Awaited<ReturnType<typeof openTestStores>>

/** The stores on a real file, or on a server (`test-database.ts`). In a folder of their own, unless one is given that somebody else removes. */
export async function openTestStores(options: Partial<StoreOptions> & { folder?: string } = {}) {
  const { folder: given, ...rest } = options
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'gateway-stores-')))
  const file = join(folder, 'gateway.db')
  if (given === undefined && rest.url === undefined) await writeMigratedDatabase(file)
  const fatal: string[] = []
  const trouble: string[] = []
  const holds = new LoadedHolds()
  const url = rest.url ?? (await testDatabase(folder, file))
  const stores = await openStores(
    {
      url,
      authToken: null,
      isSyncPromised: true,
      clock: { now: () => NOON },
      patienceMs: 60_000,
      threads: TEST_THREADS,
      isCounted: (operation) => operation !== 'free',
      signupBrakes: { perNetwork: 10, daily: micros(200_000_000) },
      onFatal: (reason) => fatal.push(reason),
      onTrouble: (what, reason) => trouble.push(`${what}: ${reason}`),
      ...rest,
    },
    holds,
  )
  /** An account with that much credit, as the ledger opens it. */
  const open = async (id: AccountId, credit: number): Promise<AccountId> => {
    await holds.openAccount(id)
    const outcome = await appended(stores.journal, opening(id, credit))
    if (outcome.kind !== 'committed') throw new Error(outcome.kind)
    holds.credited({ account: id, part: 'credit', amount: micros(credit), toppedUp: micros(0) })
    return id
  }
  return {
    ...stores,
    stores,
    holds,
    folder,
    /** For `reconcile` and clients of their own: of the file, or of the server. */
    file,
    url,
    fatal,
    trouble,
    open,
    account: (credit = 1_000_000) => open(accountId(), credit),
    /** A key and its pool. */
    async key(account: AccountId, limit: number | null = null): Promise<ApiKey> {
      const key = apiKey(account)
      const most = limit === null ? null : micros(limit)
      await holds.openPool({ id: key.poolId, account, limit: most })
      await stores.credentials.create(key, { limit: most, budgets: [] }, audit())
      return key
    },
    async close(): Promise<void> {
      await stores.close()
      if (given) return
      await endTestDatabase(folder)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** The first step of a successor on the database: from then on the one who has it open commits no batch. */
export async function raiseEpoch(file: string): Promise<void> {
  const client = openFile(file)
  await client.execute('UPDATE owner SET epoch = epoch + 1, asserted = epoch + 1')
  client.close()
}
