import { LibsqlAuditTrail } from '../adapters/stores/libsql/audit/audit-trail'
import { operatorActs } from '../adapters/stores/libsql/audit/operator-acts'
import { openControlStores } from '../adapters/stores/libsql/control-stores'
import { Opened } from '../adapters/stores/libsql/driver/opened'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker-threads'
import { openDatabase } from '../adapters/stores/libsql/open-database'
import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { RecentLatencies } from '../core/usage/recent-latencies'
import type { Log } from '../log'
import { upgradeCopy } from './backup/upgrade-copy'
import { openCell } from './cell'
import type { NodeSurroundings } from './cluster/gateway-node'

interface Surroundings {
  readonly clock: Clock
  readonly stopwatch: Clock
  readonly acceptsClock: boolean
  readonly log: Log
  readonly onFatal: (reason: string) => void
  readonly node?: NodeSurroundings
  readonly latencies: RecentLatencies | null
  readonly threads?: WorkerThreads
}

/** Opens DATABASE_URL: the control database, and the only cell (ADR 45). Whatever was opened is closed if this fails. */
export async function openDatabases(config: Config, surroundings: Surroundings) {
  const { clock, log, onFatal, node, threads } = surroundings
  const opened = new Opened()
  const onTrouble = (what: string, reason: string) => log.error(`database: ${what}`, { reason })
  try {
    const options = {
      ...{
        url: config.databaseUrl,
        authToken: config.databaseAuthToken,
        isSyncPromised: config.databaseSyncPromised,
        clock,
        onFatal,
        onTrouble,
      },
      ...{
        beforeUpgrade: upgradeCopy(config, surroundings),
        ...(node && { lease: node.lease }),
        ...(threads && { threads }),
      },
    }
    const database = await openDatabase(options, opened)
    const control = await openControlStores(database, { signupBrakes: config.signupBrakes, onTrouble })
    const cell = await openCell({ ...surroundings, database, opened, control, mayGrant: node?.mayGrant ?? null })
    const { db, tokenChanges, problem } = database
    const stores = {
      ...{ db, tokenChanges, problem, ...control, ...cell.stores },
      audit: new LibsqlAuditTrail(db),
      operatorActs: operatorActs(db),
      sealedTexts: [cell.stores.sealedWebhooks, control.sealedApis],
    }
    return { stores, cell, close: () => opened.closeInTime(onTrouble) }
  } catch (error) {
    await opened.close()
    throw error
  }
}
