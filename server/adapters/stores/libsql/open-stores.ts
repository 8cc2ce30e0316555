import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { drizzle } from 'drizzle-orm/libsql'
import type { SignupBrakes } from '../../../core/accounts/signup-credit'
import type { ReadOperationUsage } from '../../../core/apis/api-report'
import type { OperatorActs } from '../../../core/audit'
import type { Clock } from '../../../core/clock'
import type { LastTimes } from '../../../core/ledger/clock-check'
import type { RestorableCounters } from '../../../core/ledger/hold'
import type { DurableHold } from '../../../core/ledger/journal'
import type { LedgerCheck } from '../../../core/ledger/ledger-check'
import type { SealedTexts } from '../../../core/secrets/resealing'
import type { JournalState } from '../../../core/telemetry/telemetry'
import { LibsqlAccountSettings } from './account-settings'
import { LibsqlAccounts } from './accounts'
import { LibsqlApis } from './apis/api-store'
import { LibsqlClosings } from './apis/closings'
import { LibsqlSealedApis } from './apis/sealed-apis'
import { LibsqlUpstreamPayments } from './apis/upstream-payments'
import { LibsqlAuditTrail } from './audit/audit-trail'
import { operatorActs } from './audit/operator-acts'
import { HAS_LEASE, liveOwner } from './cluster/lease-tables'
import { LibsqlCredentials } from './credentials'
import { LibsqlDirectory } from './directory'
import { databaseFile } from './driver/database-file'
import { lockDatabaseFile } from './driver/database-file-lock'
import { sqlClient } from './driver/sql-client'
import { Connection, databaseError } from './driver/worker-connection'
import { OWN_THREADS, type WorkerThreads } from './driver/worker-threads'
import { WriteQueue } from './driver/write-queue'
import { TOKEN_TABLES, WriteWatch } from './driver/write-watch'
import { LibsqlIdempotencyRecords } from './idempotency-records'
import { type OpenJournal, openJournal } from './journal/open-journal'
import { lastTimes } from './last-times'
import { LibsqlAccountStatements } from './ledger/account-statements'
import { LibsqlAccounting } from './ledger/accounting'
import { LibsqlBookings } from './ledger/bookings'
import { LibsqlBooks } from './ledger/books'
import { libsqlLedgerCheck } from './ledger/ledger-check'
import { LibsqlSignupCredits } from './ledger/signup-credits'
import { LibsqlModels } from './models'
import { LibsqlNoticeMails } from './notices/notice-mails'
import { LibsqlNotices } from './notices/notices'
import { LibsqlSealedWebhooks } from './notices/sealed-webhooks'
import { LibsqlUserAddresses } from './notices/user-addresses'
import { LibsqlWebhooks } from './notices/webhooks'
import { LibsqlAccountFinder, LibsqlAccountNotes } from './operator/account-notes'
import { LibsqlCardRefunds } from './operator/card-refunds'
import { LibsqlLimitRequests } from './operator/limit-requests'
import { LibsqlReconciliations } from './operator/reconciliations'
import { LibsqlRestoreChecks } from './operator/restore-checks'
import { LibsqlUnknownCheckouts } from './operator/unknown-checkouts'
import { LibsqlPaymentClaims } from './payment-claims'
import { LibsqlPrices } from './prices'
import { LibsqlRetention } from './retention'
import { keptHolds } from './schema/usage'
import { LibsqlSocial } from './social'
import { type UpgradeOptions, upgradeDatabase } from './upgrade'
import { operationUsage } from './usage/operation-usage'
import { LibsqlRevenue } from './usage/revenue'
import { LibsqlUsageReports } from './usage/usage-reports'

export interface StoreOptions {
  /** `file:`, `libsql:` or `http(s):`. */
  readonly url: string
  readonly authToken: string | null
  /** Determines the current budget periods. */
  readonly clock: Clock
  readonly patienceMs: number
  /** Which operations the usage summary counts. */
  readonly isCounted: (operation: string) => boolean
  readonly signupBrakes: SignupBrakes
  /** Called when the process must stop: another process owns the database, or a worker died. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly beforeUpgrade?: UpgradeOptions['beforeUpgrade']
  /** The lease under which a node of many opens the database. */
  readonly lease?: HeldLease
  /** How long closing waits for a database that does not respond. */
  readonly closeMs?: number
  /** For tests, which open and close many stores in one process. */
  readonly threads?: WorkerThreads
}

/** A lease that this node took. Another node may have it by now. */
export interface HeldLease {
  readonly nodeId: string
  readonly term: number
}

export interface Stores {
  readonly db: LibSQLDatabase
  /** A count that rises when a write that can change an access token begins, and again when it ends. */
  tokenChanges(): number
  readonly journal: OpenJournal['journal']
  readonly bookings: LibsqlBookings
  readonly books: LibsqlBooks
  /** How far the disk and the tables are behind. */
  journalState(): JournalState
  readonly credentials: LibsqlCredentials
  readonly accounts: LibsqlAccounts
  readonly directory: LibsqlDirectory
  readonly limitRequests: LibsqlLimitRequests
  readonly notes: LibsqlAccountNotes
  readonly operatorActs: OperatorActs
  readonly cardRefunds: LibsqlCardRefunds
  readonly unknownCheckouts: LibsqlUnknownCheckouts
  readonly ledgerCheck: LedgerCheck
  readonly reconciliations: LibsqlReconciliations
  readonly restoreChecks: LibsqlRestoreChecks
  readonly accounting: LibsqlAccounting
  readonly revenue: LibsqlRevenue
  readonly finder: LibsqlAccountFinder
  readonly settings: LibsqlAccountSettings
  readonly signupCredits: LibsqlSignupCredits
  readonly prices: LibsqlPrices
  readonly audit: LibsqlAuditTrail
  readonly social: LibsqlSocial
  readonly sealedTexts: readonly SealedTexts[]
  readonly models: LibsqlModels
  readonly apis: LibsqlApis
  readonly upstreamPayments: LibsqlUpstreamPayments
  readonly apiClosings: LibsqlClosings
  /** Holds of streams that the previous process left open; the counters hold them again. */
  readonly durableHolds: readonly DurableHold[]
  readonly reports: LibsqlUsageReports
  readonly retention: LibsqlRetention
  readonly operationUsage: ReadOperationUsage
  readonly statements: LibsqlAccountStatements
  readonly paymentClaims: LibsqlPaymentClaims
  readonly webhooks: LibsqlWebhooks
  readonly notices: LibsqlNotices
  readonly noticeMails: LibsqlNoticeMails
  readonly keptAnswers: LibsqlIdempotencyRecords
  /** Resolves when the tables contain everything committed so far. Rejects when the database refuses it. */
  applied(): Promise<void>
  /** Why the database does not respond now; null if it does. */
  problem(): Promise<string | null>
  /** When the data was last written to. */
  lastTimes(): Promise<LastTimes>
  /** Finishes pending writes, then closes. */
  close(): Promise<void>
}

/** Less than the time that a process gets to shut down. */
const CLOSE_MS = 5_000

/**
 * Opens the database, migrates its schema, takes ownership by raising the epoch, applies what a previous process
 * left in the log, and fills memory: from here on no older owner can commit. A database file is locked for this
 * process alone. `counters` receives every balance and pool as of the last commit.
 */
export async function openStores(options: StoreOptions, counters: RestorableCounters): Promise<Stores> {
  const file = databaseFile(options.url)
  const closers: (() => void | Promise<void>)[] = []
  const abandon: (() => void)[] = []
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer()
  }
  try {
    const lock = file === null ? null : await lockDatabaseFile(file)
    if (lock) closers.push(() => lock.release())
    const stores = await openHeld(options, file, counters, closers, abandon)
    return { ...stores, close: () => closedInTime(options, close(), abandon) }
  } catch (error) {
    await close()
    throw error
  }
}

/** A hanging request does not keep the process alive: its callers know that the outcome is unknown; the next start reads it. */
async function closedInTime(
  { closeMs = CLOSE_MS, onTrouble }: StoreOptions,
  closing: Promise<void>,
  abandon: readonly (() => void)[],
): Promise<void> {
  const late = Promise.withResolvers<'late'>()
  const timer = setTimeout(() => late.resolve('late'), closeMs)
  const end = await Promise.race([closing, late.promise])
  clearTimeout(timer)
  if (end !== 'late') return
  onTrouble('close', `the database did not answer in ${closeMs} ms; the connection is cut`)
  for (const cut of abandon) cut()
}

/** What only operators use. */
function operatorStores(db: LibSQLDatabase, clock: Clock, applied: () => Promise<void>) {
  return {
    notes: new LibsqlAccountNotes(db),
    finder: new LibsqlAccountFinder(db, applied),
    operatorActs: operatorActs(db),
    cardRefunds: new LibsqlCardRefunds(db),
    unknownCheckouts: new LibsqlUnknownCheckouts(db),
    ledgerCheck: libsqlLedgerCheck(db, applied),
    reconciliations: new LibsqlReconciliations(db),
    restoreChecks: new LibsqlRestoreChecks(db, clock),
    accounting: new LibsqlAccounting(db, applied),
    revenue: new LibsqlRevenue(db, applied),
  }
}

/** A database that does not answer at the start is most often a wrong setting. */
async function firstAnswer(reader: Connection, url: string): Promise<void> {
  try {
    await reader.rows('SELECT 1')
  } catch (failure) {
    const reason = failure instanceof Error ? failure.message : String(failure)
    throw new Error(
      `The database at ${URL.parse(url)?.host ?? 'DATABASE_URL'} does not answer: ${reason}. Check DATABASE_URL, such as DATABASE_URL=libsql://db.example.com, and DATABASE_AUTH_TOKEN`,
    )
  }
}

/** A process that knows nothing of leases would take the database from the nodes that run on it, and they would take it back. */
async function refuseBesideNodes(reader: Connection): Promise<void> {
  const owner = await liveOwner((sql) => reader.rows(sql))
  if (owner === null) return
  throw new Error(
    `The node at ${owner} owns this database. Set NODE_URL to start another node, or stop all nodes and wait 10 seconds`,
  )
}

async function openHeld(
  options: StoreOptions,
  file: string | null,
  counters: RestorableCounters,
  closers: (() => void | Promise<void>)[],
  abandon: (() => void)[],
): Promise<Omit<Stores, 'close'>> {
  const { url, authToken, threads = OWN_THREADS } = options
  const connect = async (role: 'writer' | 'reader') => {
    const connection = await Connection.open({ role, url, authToken, threads }, (error) =>
      options.onFatal(error.message),
    )
    closers.push(() => connection.close())
    abandon.push(() => connection.abandon())
    return connection
  }
  const writer = await connect('writer')
  const reader = await connect('reader')
  if (file === null) await firstAnswer(reader, url)
  if (file === null && !options.lease) await refuseBesideNodes(reader)
  await upgradeDatabase(writer, { file, onTrouble: options.onTrouble, beforeUpgrade: options.beforeUpgrade })
  const epoch = await raiseEpoch(writer, options.clock.now(), options.lease)
  const writes = new WriteQueue(writer, epoch)
  closers.push(() => writes.drained())
  const tokenWrites = new WriteWatch(TOKEN_TABLES)
  const db = drizzle({ client: sqlClient(reader, () => writes, writer, tokenWrites) })
  const { patienceMs, onFatal, onTrouble } = options
  const opened = await openJournal({ file, writes, reader, threads, patienceMs, onFatal, onTrouble })
  closers.push(() => opened.close())
  const { journal, applied } = opened
  const credentials = new LibsqlCredentials(db, journal, applied)
  const directory = new LibsqlDirectory(db)
  await directory.restore()
  const accounts = new LibsqlAccounts(db, directory)
  const now = options.clock.now()
  const prices = new LibsqlPrices(db)
  await accounts.restore(counters)
  await credentials.restore(counters)
  for (const { id, budget, spent } of await credentials.restoreBudgets(now))
    counters.restoreBudget(id, budget, now, spent)
  await prices.restore()
  const models = new LibsqlModels(db)
  await models.restore(onTrouble)
  const holds = await db.select({ hold: keptHolds.hold, call: keptHolds.call }).from(keptHolds)
  for (const { hold } of holds) counters.restoreHold(hold)
  return {
    db,
    tokenChanges: () => tokenWrites.count,
    journal,
    bookings: new LibsqlBookings(db, applied),
    books: new LibsqlBooks(db, applied),
    journalState: () => ({ ...opened.state(), queuedWrites: writes.waiting }),
    credentials,
    accounts,
    directory,
    limitRequests: new LibsqlLimitRequests(db, accounts),
    ...operatorStores(db, options.clock, applied),
    settings: new LibsqlAccountSettings(db, applied),
    signupCredits: new LibsqlSignupCredits(db, options.signupBrakes),
    prices,
    audit: new LibsqlAuditTrail(db),
    social: new LibsqlSocial(db),
    models,
    apis: new LibsqlApis(db),
    upstreamPayments: new LibsqlUpstreamPayments(db, applied),
    apiClosings: new LibsqlClosings(db),
    durableHolds: holds,
    reports: new LibsqlUsageReports(db, options.isCounted, applied),
    operationUsage: operationUsage(db, applied),
    statements: new LibsqlAccountStatements(db, applied),
    paymentClaims: new LibsqlPaymentClaims(db),
    ...eventStores(db, directory),
    keptAnswers: new LibsqlIdempotencyRecords(db, applied),
    retention: new LibsqlRetention(db),
    applied,
    lastTimes: () => lastTimes(db),
    problem: () =>
      reader.rows('SELECT 1').then(
        () => null,
        (error: unknown) => databaseError(error).message,
      ),
  }
}

function eventStores(db: LibSQLDatabase, directory: LibsqlDirectory) {
  return {
    webhooks: new LibsqlWebhooks(db, directory),
    notices: new LibsqlNotices(db),
    noticeMails: new LibsqlNoticeMails(db, new LibsqlUserAddresses(db), directory),
    sealedTexts: [new LibsqlSealedWebhooks(db), new LibsqlSealedApis(db)],
  }
}

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Throws if another node has the lease: one that froze while it opened the database must not fence its successor.
 */
async function raiseEpoch(writer: Connection, now: number, lease: HeldLease | undefined): Promise<number> {
  const sql = `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0 WHERE id = 1 AND ${HAS_LEASE} RETURNING epoch`
  const args = [Math.max(0, Math.floor(now / 1000)), lease?.nodeId ?? null, lease?.term ?? null]
  const [result] = await writer.send({ op: 'batch', mode: 'write', statements: [{ sql, args }] })
  const epoch = Number(result?.rows[0]?.[0])
  if (Number.isSafeInteger(epoch)) return epoch
  throw new Error(lease ? 'another node took the lease meanwhile' : 'the database has no owner row')
}
