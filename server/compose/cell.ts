import { LibsqlAppGrants } from '../adapters/stores/libsql/app-grants'
import { openCellStores } from '../adapters/stores/libsql/cell-stores'
import type { ControlStores } from '../adapters/stores/libsql/control-stores'
import type { Opened } from '../adapters/stores/libsql/driver/opened'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker/worker-threads'
import type { Database } from '../adapters/stores/libsql/open-database'
import { MemoryEvents } from '../adapters/stores/memory/events'
import { LeasedHolds } from '../adapters/stores/memory/leased-holds'
import { LoadedHolds } from '../adapters/stores/memory/loaded-holds'
import { MemoryWindows } from '../adapters/stores/memory/windows'
import { LimitRequests } from '../core/accounts/staff/limit-requests'
import { isSold } from '../core/catalog/operations'
import type { Clock } from '../core/clock'
import { CellClaims } from '../core/cluster/cells'
import { DirectoryCompleteness } from '../core/cluster/directory-completeness'
import { AT_ONCE, type Opening } from '../core/cluster/opening'
import { announcedJournal } from '../core/events/announced-journal'
import { assertClock } from '../core/ledger/clock-check'
import { Ledger, type UndecidedCharge } from '../core/ledger/ledger'
import { StuckRecords } from '../core/ledger/stuck-records'
import { WatchedJournal } from '../core/ledger/watched-journal'
import { Limiter } from '../core/limits/limiter'
import type { RecentLatencies } from '../core/usage/recent-latencies'
import type { Log } from '../log'
import type { CellMembership } from './cluster/cells/cell-membership'
import { directorySync, readOnlyRecords, requestSync } from './cluster/cells/directory-sync'
import { MoneyLog } from './observing/money-log'
import { timedJournal } from './observing/timed-journal'
import { eventWriter } from './webhooks'

/** How long a caller waits for the commit of its charge before it gets a 503. */
const COMMIT_PATIENCE_MS = 10_000

interface CellNeeds {
  /** What the cell's accounts are in. Closing `opened` closes the cell first, then the database. */
  readonly database: Database
  readonly opened: Opened
  readonly control: Pick<ControlStores, 'directory' | 'userAddresses' | 'cells' | 'directoryRecords'>
  /** Absent: the only cell. */
  readonly cell?: Pick<CellMembership, 'name' | 'all' | 'messages' | 'witness'> | undefined
  readonly clock: Clock
  /** Monotonic. */
  readonly stopwatch: Clock
  readonly acceptsClock: boolean
  /** How many bytes of the disk are kept for charges of calls in progress. */
  readonly reserveBytes: number
  readonly log: Log
  /** Whether this process may grant; always, if it is not one of many nodes. */
  readonly mayGrant: (() => boolean) | null
  /** Sends a charge whose outcome is unknown to the next owner. */
  readonly onUndecided?: ((charge: UndecidedCharge) => void) | undefined
  readonly onFatal: (reason: string) => void
  /** Null without metrics. */
  readonly latencies: RecentLatencies | null
  readonly threads?: WorkerThreads | undefined
  readonly opening?: Opening | undefined
}

export type Cell = Awaited<ReturnType<typeof openCell>>

/**
 * Opens the accounts of one cell (ADR 45): its stores, and what decides in memory about their money and limits. When owned, settles the streams that the
 * previous owner left unfinished. Throws if the clock is far from the cell's last entry.
 */
export async function openCell(needs: CellNeeds) {
  const { database, opened, control, clock, stopwatch, log, latencies, mayGrant, onFatal, onUndecided, threads } = needs
  const { opening = AT_ONCE } = needs
  const holds = mayGrant ? new LeasedHolds(mayGrant) : new LoadedHolds()
  const options = {
    ...{ clock, onFatal, patienceMs: COMMIT_PATIENCE_MS, isCounted: isSold, ...(threads && { threads }) },
    reserveBytes: needs.reserveBytes,
    onReserve: (reason: string | null) =>
      reason === null
        ? log.info('the disk has space again: new calls are served')
        : log.error('the disk is full: new calls are refused until it has space', { reason }),
    onTrouble: (what: string, reason: string) => log.error(`database: ${what}`, { reason }),
    onStuck: (counts: { readonly records: number; readonly accounts: number }) =>
      log.error('records of the ledger are stuck', counts),
  }
  const claims = claimsOf(needs)
  const stores = await openCellStores({ database, control, claims, counters: holds, opening }, options, opened)
  const syncDirectory = syncOf(needs, stores)
  const compareClock = async () => {
    if (!needs.acceptsClock) assertClock(clock.now(), await stores.lastTimes())
  }
  // The owner that still serves has synced the directory. If it lacks records, the cell cannot be prepared.
  const compare = opening.isAhead
    ? syncOf({ ...needs, control: { ...control, directoryRecords: readOnlyRecords(control.directoryRecords) } }, stores)
    : syncDirectory
  await Promise.all([compare(), compareClock()])
  const events = new MemoryEvents()
  const charges = new WatchedJournal(stores.journal, () => stopwatch.now(), stores.reserve)
  const money = new MoneyLog(log)
  const journal = timedJournal(money.around(announcedJournal(charges, events)), latencies)
  const writeEvent = eventWriter(stores.webhooks, clock, log)
  const onReversalFailure = (request: string, reason: string) => {
    log.error('a charge could not be reversed', { request, reason })
    writeEvent('ledger.alarm', request, { request_id: request, reason })
  }
  const ledger = new Ledger({ holds, journal, bookings: stores.bookings, clock, onReversalFailure, onUndecided })
  await opening.whenOwned(async () => {
    for (const durable of await stores.restoreHolds())
      if (!(await ledger.settleDurable(durable)))
        onReversalFailure(durable.call.id, 'an unfinished stream could not be charged')
  })
  const { accounts, credentials } = stores
  return {
    ...{ stores, holds, events, journal, money, ledger, accounts, credentials, claims },
    /** Adds the records of this cell that the directory lacks. Does nothing for the only cell. */
    syncDirectory,
    stuck: new StuckRecords({ store: stores.stuck, journal, holds, clock }),
    apps: new LibsqlAppGrants(database.db, (reason) =>
      log.warn('the last use of an app could not be saved', { reason }),
    ),
    limiter: new Limiter(new MemoryWindows(), clock),
    limitRequests: new LimitRequests({ store: stores.limitRequests, accounts, ledger, clock, events }),
    /** Whether charges can be committed. */
    charges,
    /** Writes an event that no commit causes. */
    writeEvent,
  }
}

/** Null for the only cell. */
function claimsOf({ control, cell, stopwatch }: Pick<CellNeeds, 'control' | 'cell' | 'stopwatch'>): CellClaims | null {
  if (!cell || cell.all.length < 2) return null
  const { name, all, messages, witness } = cell
  const others = all.filter((other) => other !== name)
  const completeness = new DirectoryCompleteness({
    others,
    ask: requestSync(messages),
    monotonic: () => stopwatch.now(),
    witness,
  })
  return new CellClaims(control.cells, name, completeness)
}

function syncOf(
  { control, cell, log }: Pick<CellNeeds, 'control' | 'cell' | 'log'>,
  { contents }: Awaited<ReturnType<typeof openCellStores>>,
): () => Promise<void> {
  if (!cell || cell.all.length < 2) return async () => undefined
  return directorySync({ cell: cell.name, contents, records: control.directoryRecords, log })
}
