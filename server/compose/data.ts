import { Opened } from '../adapters/stores/libsql/driver/opened'
import { openDatabase } from '../adapters/stores/libsql/open-database'
import { openStores } from '../adapters/stores/libsql/stores'
import type { Config } from '../config'
import { isSold } from '../core/catalog/operations'
import { assertClock } from '../core/ledger/clock-check'
import type { RestorableCounters } from '../core/ledger/hold'
import { putBackNote } from './backup/after-restore'
import { upgradeCopy } from './backup/upgrade-copy'
import type { Surroundings } from './surroundings'

/** How long a caller waits for the commit of its charge before it gets a 503. */
const COMMIT_PATIENCE_MS = 10_000

/**
 * Opens the database and its stores, which read counters into `counters`. Throws if the clock is far from the last entry. Whatever was opened is
 * closed if this fails.
 */
export async function openData(config: Config, surroundings: Surroundings, counters: RestorableCounters) {
  const { clock, log, onFatal, threads, acceptsClock } = surroundings
  const opened = new Opened()
  const onTrouble = (what: string, reason: string) => log.error(`database: ${what}`, { reason })
  const common = { clock, onFatal, onTrouble, ...(threads && { threads }) }
  try {
    const database = await openDatabase(
      {
        ...common,
        url: config.databaseUrl,
        authToken: config.databaseAuthToken,
        isSyncPromised: config.databaseSyncPromised,
        beforeUpgrade: upgradeCopy(config, surroundings),
        onPutBack: putBackNote(config, clock),
      },
      opened,
    )
    const stores = await openStores(
      database,
      {
        ...common,
        counters,
        signupBrakes: config.signupBrakes,
        patienceMs: COMMIT_PATIENCE_MS,
        isCounted: isSold,
        reserveBytes: config.diskReserveBytes,
        onReserve: (reason) =>
          reason === null
            ? log.info('the disk has space again: new calls are served')
            : log.error('the disk is full: new calls are refused until it has space', { reason }),
        onStuck: (counts) => log.error('records of the ledger are stuck', counts),
      },
      opened,
    )
    if (!acceptsClock) assertClock(clock.now(), await stores.lastTimes())
    return { stores, close: () => opened.closeInTime(onTrouble) }
  } catch (error) {
    await opened.close()
    throw error
  }
}
