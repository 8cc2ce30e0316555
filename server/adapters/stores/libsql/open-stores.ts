import type { RestorableCounters } from '../../../core/ledger/hold'
import { LibsqlAuditTrail } from './audit/audit-trail'
import { operatorActs } from './audit/operator-acts'
import { type CellOptions, openCellStores } from './cell-stores'
import { type ControlOptions, openControlStores } from './control-stores'
import { Opened } from './driver/opened'
import { type DatabaseOptions, openDatabase } from './open-database'

export interface StoreOptions extends DatabaseOptions, ControlOptions, CellOptions {
  /** How long closing waits for a database that does not respond. */
  readonly closeMs?: number
}

export type Stores = Awaited<ReturnType<typeof openStores>>

/**
 * Opens the database, which is the control database and the only cell (ADR 45), and fills memory. From here on no older owner can commit.
 * `counters` receives every balance and pool as of the last commit.
 */
export async function openStores(options: StoreOptions, counters: RestorableCounters) {
  const opened = new Opened()
  try {
    const database = await openDatabase(options, opened)
    const { db, tokenChanges, problem } = database
    const { sealedApis, ...control } = await openControlStores(database, options)
    const { sealedWebhooks, ...cell } = await openCellStores({ database, control, counters }, options, opened)
    return {
      ...{ db, tokenChanges, problem },
      ...control,
      ...cell,
      audit: new LibsqlAuditTrail(db),
      operatorActs: operatorActs(db),
      sealedTexts: [sealedWebhooks, sealedApis],
      /** Finishes pending writes, then closes. */
      close: () => opened.closeInTime(options.onTrouble, options.closeMs),
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}
