import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { type DatabaseOptions, openDatabase } from '../../../server/adapters/stores/libsql/open-database'
import {
  openStores as openServerStores,
  type StoreOptions as ServerStoreOptions,
} from '../../../server/adapters/stores/libsql/stores'
import type { RestorableCounters } from '../../../server/core/ledger/hold'

export interface StoreOptions extends DatabaseOptions, Omit<ServerStoreOptions, 'counters'> {
  /** How long closing waits for a database that does not respond. */
  readonly closeMs?: number
}

/** All stores of one database, without a gateway. */
export async function openStores(options: StoreOptions, counters: RestorableCounters) {
  const opened = new Opened()
  try {
    const database = await openDatabase(options, opened)
    const stores = await openServerStores(database, { ...options, counters }, opened)
    return {
      ...stores,
      durableHolds: await stores.restoreHolds(),
      close: () => opened.closeInTime(options.onTrouble, options.closeMs),
    }
  } catch (error) {
    await opened.close()
    throw error
  }
}
