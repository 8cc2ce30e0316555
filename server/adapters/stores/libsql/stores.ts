import type { SignupBrakes } from '../../../core/accounts/signup-credit'
import type { Clock } from '../../../core/clock'
import type { RestorableCounters } from '../../../core/ledger/hold'
import type { DurableHold } from '../../../core/ledger/journal'
import type { OpenLogCopy } from '../../../core/ledger/log-copy'
import { LibsqlAccountSettings } from './account-settings'
import { LibsqlAccounts } from './accounts'
import { LibsqlApis, LibsqlClosings, LibsqlSealedApis } from './apis/api-store'
import { LibsqlUpstreamPayments } from './apis/upstream-payments'
import { LibsqlArchive } from './archive/libsql-archive'
import { LibsqlAuditTrail, operatorActs } from './audit/audit-trail'
import { LibsqlCredentials } from './credentials'
import { LibsqlDirectory } from './directory'
import type { Opened } from './driver/opened'
import { databaseError } from './driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from './driver/worker/worker-threads'
import { LibsqlIdempotencyRecords } from './idempotency-records'
import { openJournal } from './journal/open-journal'
import { lastTimes } from './last-times'
import { LibsqlAccountStatements } from './ledger/account-statements'
import { LibsqlAccounting } from './ledger/accounting'
import { LibsqlBookings } from './ledger/bookings'
import { LibsqlBooks } from './ledger/books'
import { LibsqlDayClosings } from './ledger/day-closings'
import { libsqlLedgerCheck } from './ledger/ledger-check'
import { LibsqlSignupCredits } from './ledger/signup-credits'
import { LibsqlStoredCounters } from './ledger/stored-counters'
import { LibsqlStuckRecords } from './ledger/stuck-records'
import { LibsqlMembers } from './members'
import { LibsqlModelVendors } from './model-vendors'
import { LibsqlModels } from './models'
import { LibsqlNoticeMails } from './notices/notice-mails'
import { LibsqlNotices, LibsqlSealedWebhooks } from './notices/notices'
import { LibsqlWebhooks } from './notices/webhooks'
import type { Database } from './open-database'
import { LibsqlAccountFinder, LibsqlAccountNotes } from './operator/account-notes'
import { LibsqlCardRefunds, LibsqlReconciliations, LibsqlUnknownCheckouts } from './operator/card-refunds'
import { LibsqlLimitRequests } from './operator/limit-requests'
import { LibsqlRestoreChecks } from './operator/restore-checks'
import { LibsqlPaymentClaims } from './payment-claims'
import { LibsqlPrices } from './prices'
import { LibsqlRetention } from './retention'
import { owner } from './schema/owner'
import { keptHolds } from './schema/usage'
import { LibsqlSocial } from './social'
import { operationUsage } from './usage/operation-usage'
import { ReportTurns } from './usage/report-turns'
import { LibsqlRevenue } from './usage/revenue'
import { LibsqlUsageReports } from './usage/usage-reports'
import { LibsqlWorkerCredentials } from './worker-credentials'

export interface StoreOptions {
  /** Reads balances and pools from here at their first use. */
  readonly counters: RestorableCounters
  /** Determines the current budget periods. */
  readonly clock: Clock
  readonly signupBrakes: SignupBrakes
  readonly patienceMs: number
  /** How many bytes of the disk of a database file are kept for charges of calls in progress; none if it is absent. */
  readonly reserveBytes?: number
  /** That reserve was given up, or, with null, it was taken back. */
  readonly onReserve?: (problem: string | null) => void
  /** Which operations the usage summary counts. */
  readonly isCounted: (operation: string) => boolean
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  /** Called when records got stuck, and at the start if some are. Their accounts hold nothing from then on. */
  readonly onStuck?: (counts: { readonly records: number; readonly accounts: number }) => void
  readonly threads?: WorkerThreads
  /** Opens the second place of a database file's log; absent without one. */
  readonly openCopy?: OpenLogCopy
}

export type Stores = Awaited<ReturnType<typeof openStores>>

/**
 * Opens all stores, and applies what a previous owner left in the log. However many accounts and keys there are, none is read before its first
 * use (ADR 60).
 */
export async function openStores(database: Database, options: StoreOptions, opened: Opened) {
  const { db, writes, copies } = database
  const { counters, clock, signupBrakes, onTrouble } = options
  const log = await openLog(database, options, () => void reviewed(stuck, options))
  opened.add(() => log.close())
  const { journal, applied } = log
  const stuck = new LibsqlStuckRecords(db, { applied, counters })
  const settled = () => writes.settled()
  const credentials = new LibsqlCredentials(db, { groups: journal, applied, settled })
  const directory = new LibsqlDirectory(db)
  const prices = new LibsqlPrices(db)
  const models = new LibsqlModels(db)
  const modelVendors = new LibsqlModelVendors(db)
  const accounts = new LibsqlAccounts(db, directory, settled)
  const members = new LibsqlMembers(db)
  await copies.add(directory, prices, modelVendors, { read: () => models.read(onTrouble) })
  await copies.add({ read: async () => () => accounts.takeRoles() })
  counters.readFrom(new LibsqlStoredCounters(db, clock, applied))
  const restoreHolds = async (): Promise<readonly DurableHold[]> => {
    const durable = await db.select({ hold: keptHolds.hold, call: keptHolds.call }).from(keptHolds)
    await Promise.all(durable.map(({ hold }) => counters.load(hold.account, hold.pool, hold.scope, hold.at)))
    for (const { hold } of durable) counters.restoreHold(hold)
    return durable
  }
  await stuck.restore()
  await reviewed(stuck, options)
  return {
    db,
    epoch: database.epoch,
    tokenChanges: database.tokenChanges,
    /** Why the database does not respond now; null if it does. */
    problem: database.problem,
    copies,
    journal,
    applied,
    credentials,
    directory,
    accounts,
    members,
    prices,
    models,
    modelVendors,
    stuck,
    reserve: log.reserve,
    logCopy: log.copy,
    /** Holds again what streams held that the previous owner left open. Call once, before anything is held. */
    restoreHolds,
    /** The last group of the log in the tables. */
    appliedGroup: async () => (await db.select({ group: owner.appliedGroup }).from(owner))[0]?.group ?? 0,
    /** How far the disk and the tables are behind. */
    journalState: () => ({ ...log.state(), queuedWrites: writes.waiting }),
    apis: new LibsqlApis(db),
    apiClosings: new LibsqlClosings(db),
    audit: new LibsqlAuditTrail(db),
    operatorActs: operatorActs(db),
    signupCredits: new LibsqlSignupCredits(db, signupBrakes),
    bookings: new LibsqlBookings(db, applied),
    limitRequests: new LibsqlLimitRequests(db, accounts),
    settings: new LibsqlAccountSettings(db, applied),
    social: new LibsqlSocial(db),
    upstreamPayments: new LibsqlUpstreamPayments(db, applied),
    paymentClaims: new LibsqlPaymentClaims(db),
    idempotencyRecords: new LibsqlIdempotencyRecords(db, applied),
    retention: new LibsqlRetention(db),
    archive: new LibsqlArchive(db),
    webhooks: new LibsqlWebhooks(db, directory),
    sealedTexts: [new LibsqlSealedWebhooks(db), new LibsqlSealedApis(db), modelVendors.sealedTexts],
    notices: new LibsqlNotices(db),
    workerCredentials: new LibsqlWorkerCredentials(db),
    noticeMails: new LibsqlNoticeMails(db, directory),
    ...reportStores(database, options, applied),
  }
}

function openLog({ file, reader, writes }: Database, options: StoreOptions, onStuck: () => void) {
  const defaults = { threads: OWN_THREADS, reserveBytes: 0, onReserve: () => undefined, openCopy: null }
  return openJournal({ ...defaults, ...options, file, reader, writes, onStuck })
}

/** Closes the accounts of stuck records for holds, and says so. */
async function reviewed(stuck: LibsqlStuckRecords, { onStuck, onTrouble }: StoreOptions): Promise<void> {
  try {
    await stuck.refresh()
    const counts = await stuck.counts()
    if (counts.records > 0) onStuck?.(counts)
  } catch (error) {
    onTrouble('stuck', databaseError(error).message)
  }
}

/** What reads the books and the calls, and what operators keep about accounts. */
function reportStores(
  { db, reports: slow }: Database,
  { clock, isCounted }: StoreOptions,
  applied: () => Promise<void>,
) {
  const turns = new ReportTurns(applied)
  return {
    books: new LibsqlBooks(slow, applied),
    statements: new LibsqlAccountStatements(slow, turns),
    accounting: new LibsqlAccounting(slow, applied),
    dayClosing: new LibsqlDayClosings(slow, applied),
    ledgerCheck: libsqlLedgerCheck(slow, applied),
    revenue: new LibsqlRevenue(slow, applied),
    reports: new LibsqlUsageReports(slow, isCounted, turns),
    operationUsage: operationUsage(slow, applied),
    notes: new LibsqlAccountNotes(db),
    finder: new LibsqlAccountFinder(slow, applied),
    cardRefunds: new LibsqlCardRefunds(db),
    reconciliations: new LibsqlReconciliations(db),
    unknownCheckouts: new LibsqlUnknownCheckouts(db),
    restoreChecks: new LibsqlRestoreChecks(db, clock),
    /** When the data was last written to. */
    lastTimes: () => lastTimes(db),
  }
}
