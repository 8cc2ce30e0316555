import { openWork } from '../../../adapters/stores/libsql/cluster/open-work'
import type { AccountStore } from '../../../core/accounts/store'
import type { StuckStore } from '../../../core/ledger/stuck-record'
import type { JournalState } from '../../../core/telemetry/telemetry'

/** The contents of a cell and the speed of its database. */
export interface CellLoad {
  readonly accounts: number
  readonly longCalls: number
  readonly keptHolds: number
  readonly unfinishedPayments: number
  readonly stuckRecords: number
  /** How long the oldest charge has waited for its commit. */
  readonly commitWaitMs: number
  /** How long the database took to answer. */
  readonly databaseMs: number
}

interface LoadParts {
  readonly accounts: Pick<AccountStore, 'count'>
  readonly openCalls: { readonly count: number }
  readonly stores: {
    /** The database of the cell's accounts. */
    readonly db: Parameters<typeof openWork>[0]
    readonly stuck: Pick<StuckStore, 'counts'>
    journalState(): Pick<JournalState, 'waitingMs'>
  }
}

/** Asks the cell's database. Rejects if it does not answer. */
export async function cellLoad({ accounts, openCalls, stores }: LoadParts): Promise<CellLoad> {
  const askedAt = performance.now()
  const work = await openWork(stores.db)
  const databaseMs = Math.round(performance.now() - askedAt)
  const { records } = await stores.stuck.counts()
  const commitWaitMs = Math.round(stores.journalState().waitingMs)
  const counted = { accounts: await accounts.count(), longCalls: openCalls.count, stuckRecords: records }
  return { ...counted, ...work, commitWaitMs, databaseMs }
}
