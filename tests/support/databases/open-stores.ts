import { LibsqlAuditTrail } from '../../../server/adapters/stores/libsql/audit/audit-trail'
import { type CellOptions, openCellStores } from '../../../server/adapters/stores/libsql/cell-stores'
import {
  type ControlOptions,
  type ControlStores,
  openControlStores,
} from '../../../server/adapters/stores/libsql/control-stores'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { type DatabaseOptions, openDatabase } from '../../../server/adapters/stores/libsql/open-database'
import type { CellClaims } from '../../../server/core/cluster/cells'
import type { RestorableCounters } from '../../../server/core/ledger/hold'

export interface StoreOptions extends DatabaseOptions, ControlOptions, CellOptions {
  /** How long closing waits for a database that does not respond. */
  readonly closeMs?: number
  /** Of another database, whose cell this database then is. */
  readonly control?: ControlStores
  readonly claims?: CellClaims
}

/** All stores of one database, without a gateway: it is the control database and the only cell, or a cell of another one. */
export async function openStores(options: StoreOptions, counters: RestorableCounters) {
  const opened = new Opened()
  try {
    const database = await openDatabase(options, opened)
    const control = options.control ?? (await openControlStores(database, options))
    const cell = await openCellStores({ database, control, claims: options.claims ?? null, counters }, options, opened)
    const { db, tokenChanges, problem } = database
    return {
      ...{ ...control, ...cell, db, tokenChanges, problem },
      durableHolds: await cell.restoreHolds(),
      audit: new LibsqlAuditTrail(db),
      close: () => opened.closeInTime(options.onTrouble, options.closeMs),
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}
