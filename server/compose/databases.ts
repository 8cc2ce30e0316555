import { LibsqlAuditTrail } from '../adapters/stores/libsql/audit/audit-trail'
import { JoinedAuditTrail } from '../adapters/stores/libsql/audit/joined-audit-trail'
import { operatorActs } from '../adapters/stores/libsql/audit/operator-acts'
import { openControlStores } from '../adapters/stores/libsql/control-stores'
import { Opened } from '../adapters/stores/libsql/driver/opened'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker-threads'
import { LibsqlControlEvents } from '../adapters/stores/libsql/notices/control-events'
import { openDatabase } from '../adapters/stores/libsql/open-database'
import { LibsqlRetention } from '../adapters/stores/libsql/retention'
import type { Config } from '../config'
import type { Clock } from '../core/clock'
import { JoinedRetention } from '../core/usage/joined-retention'
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
  readonly cellDatabase?: string
  readonly threads?: WorkerThreads
}

/**
 * Opens DATABASE_URL: the control database, and the only cell, if that has no database of its own (ADR 45). Whatever was opened is closed if this
 * fails.
 */
export async function openDatabases(config: Config, surroundings: Surroundings) {
  const { clock, log, onFatal, node, threads, cellDatabase } = surroundings
  const opened = new Opened()
  const onTrouble = (what: string, reason: string) => log.error(`database: ${what}`, { reason })
  try {
    const options = {
      ...{ url: config.databaseUrl, authToken: config.databaseAuthToken, clock, onFatal, onTrouble },
      isSyncPromised: config.databaseSyncPromised,
      ...{ ...(node && { lease: node.lease }), ...(threads && { threads }) },
      beforeUpgrade: upgradeCopy(config, surroundings),
    }
    const database = await openDatabase(options, opened)
    const control = await openControlStores(database, { signupBrakes: config.signupBrakes, onTrouble })
    const home = cellDatabase === undefined ? database : await openDatabase({ ...options, url: cellDatabase }, opened)
    const mayGrant = node?.mayGrant ?? null
    const cell = await openCell({ ...surroundings, database: home, opened, control, mayGrant })
    const { db, tokenChanges } = database
    const both = [...new Set([database, home])]
    const [audit, ofCell] = [new LibsqlAuditTrail(db), new LibsqlAuditTrail(home.db)]
    const stores = {
      /** Where the accounts are, and where everything else is. */
      ...{ db: home.db, controlDb: db },
      ...{ tokenChanges, ...control, ...cell.stores },
      audit: home === database ? audit : new JoinedAuditTrail(audit, ofCell),
      operatorActs: both.map((one) => operatorActs(one.db)),
      /** Why a database does not respond now; null if all do. */
      problem: async () => (await Promise.all(both.map((one) => one.problem()))).find(Boolean) ?? null,
      controlEvents: home === database ? null : new LibsqlControlEvents(db),
      retention:
        home === database ? cell.stores.retention : new JoinedRetention(new LibsqlRetention(db), cell.stores.retention),
      sealedTexts: [cell.stores.sealedWebhooks, control.sealedApis],
    }
    return { stores, cell, close: () => opened.closeInTime(onTrouble) }
  } catch (error) {
    await opened.close()
    throw error
  }
}
