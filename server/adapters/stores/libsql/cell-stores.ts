import type { Clock } from '../../../core/clock'
import type { CellClaims } from '../../../core/cluster/cells'
import { AT_ONCE, type Opening } from '../../../core/cluster/opening'
import type { RestorableCounters } from '../../../core/ledger/hold'
import type { DurableHold } from '../../../core/ledger/journal'
import { LibsqlAccountSettings } from './account-settings'
import { LibsqlAccounts } from './accounts'
import { LibsqlUpstreamPayments } from './apis/upstream-payments'
import { LibsqlArchive } from './archive/libsql-archive'
import { cellContents } from './cluster/cell-contents'
import type { ControlStores } from './control-stores'
import { LibsqlCredentials } from './credentials'
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
import { LibsqlStoredCounters } from './ledger/stored-counters'
import { LibsqlStuckRecords } from './ledger/stuck-records'
import { LibsqlNoticeMails } from './notices/notice-mails'
import { LibsqlNotices } from './notices/notices'
import { LibsqlSealedWebhooks } from './notices/sealed-webhooks'
import { LibsqlWebhooks } from './notices/webhooks'
import type { Database } from './open-database'
import { LibsqlAccountFinder, LibsqlAccountNotes } from './operator/account-notes'
import { LibsqlCardRefunds } from './operator/card-refunds'
import { LibsqlLimitRequests } from './operator/limit-requests'
import { LibsqlRestoreChecks } from './operator/restore-checks'
import { LibsqlPaymentClaims } from './payment-claims'
import { LibsqlRetention } from './retention'
import { keptHolds } from './schema/usage'
import { LibsqlSocial } from './social'
import { operationUsage } from './usage/operation-usage'
import { ReportTurns } from './usage/report-turns'
import { LibsqlRevenue } from './usage/revenue'
import { LibsqlUsageReports } from './usage/usage-reports'

export interface CellOptions {
  /** Determines the current budget periods. */
  readonly clock: Clock
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
}

interface CellNeeds {
  readonly database: Database
  readonly control: Pick<ControlStores, 'directory' | 'userAddresses'>
  /** What the cell says in the directory; null for the only cell. */
  readonly claims: CellClaims | null
  /** Reads balances and pools from here at their first use. */
  readonly counters: RestorableCounters
  readonly opening?: Opening | undefined
}

/**
 * The stores of what belongs to the accounts of one cell (ADR 45): applies what a previous owner left in the log. However many accounts and keys there
 * are, none is read before its first use (ADR 60). They use no table of the control database.
 */
export async function openCellStores(needs: CellNeeds, options: CellOptions, opened: Opened) {
  const { database, control, claims, counters, opening = AT_ONCE } = needs
  const { db, file, reader, writes } = database
  const { clock, patienceMs, onFatal, onTrouble, threads = OWN_THREADS } = options
  const onStuck = () => void reviewed(stuck, options)
  const { reserveBytes = 0, onReserve = () => undefined } = options
  const reserve = { reserveBytes, onReserve }
  const log = await openJournal({ ...reserve, file, writes, reader, threads, patienceMs, onFatal, onTrouble, onStuck })
  opened.add(() => log.close())
  const { journal, applied } = log
  const stuck = new LibsqlStuckRecords(db, { applied, counters })
  const settled = () => writes.settled()
  const credentials = new LibsqlCredentials(db, { groups: journal, applied, settled, claims })
  const accounts = new LibsqlAccounts(db, control.directory, settled)
  counters.readFrom(new LibsqlStoredCounters(db, clock))
  const restoreHolds = async (): Promise<readonly DurableHold[]> => {
    const durable = await db.select({ hold: keptHolds.hold, call: keptHolds.call }).from(keptHolds)
    await Promise.all(durable.map(({ hold }) => counters.known(hold.account, hold.pool)))
    for (const { hold } of durable) counters.restoreHold(hold)
    return durable
  }
  await opening.whenOwned(async () => {
    await stuck.restore()
    await reviewed(stuck, options)
  })
  return {
    ...{ journal, applied, credentials, accounts, stuck },
    reserve: log.reserve,
    /** Holds again what streams held that the previous owner left open. Call once, before anything is held. */
    restoreHolds,
    /** How far the disk and the tables are behind. */
    journalState: () => ({ ...log.state(), queuedWrites: writes.waiting }),
    bookings: new LibsqlBookings(db, applied),
    limitRequests: new LibsqlLimitRequests(db, accounts),
    settings: new LibsqlAccountSettings(db, applied),
    social: new LibsqlSocial(db, claims),
    upstreamPayments: new LibsqlUpstreamPayments(db, applied),
    paymentClaims: new LibsqlPaymentClaims(db, claims),
    idempotencyRecords: new LibsqlIdempotencyRecords(db, applied),
    retention: new LibsqlRetention(db),
    archive: new LibsqlArchive(db),
    webhooks: new LibsqlWebhooks(db, control.directory),
    sealedWebhooks: new LibsqlSealedWebhooks(db),
    notices: new LibsqlNotices(db),
    noticeMails: new LibsqlNoticeMails(db, control.userAddresses, control.directory),
    ...cellReports(database, options, applied),
  }
}

/** Closes the accounts of stuck records for holds, and says so. */
async function reviewed(stuck: LibsqlStuckRecords, { onStuck, onTrouble }: CellOptions): Promise<void> {
  try {
    await stuck.refresh()
    const counts = await stuck.counts()
    if (counts.records > 0) onStuck?.(counts)
  } catch (error) {
    onTrouble('stuck', databaseError(error).message)
  }
}

/** What reads the books and the calls of a cell, and what operators keep about its accounts. */
function cellReports({ db, reports: slow }: Database, { clock, isCounted }: CellOptions, applied: () => Promise<void>) {
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
    restoreChecks: new LibsqlRestoreChecks(db, clock),
    contents: cellContents(db, () => clock.now()),
    /** When the data was last written to. */
    lastTimes: () => lastTimes(db),
  }
}
