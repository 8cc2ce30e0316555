import { LibsqlAuditTrail } from '../adapters/stores/libsql/audit/audit-trail'
import { forgetInControl } from '../adapters/stores/libsql/audit/forgotten-traces'
import { JoinedAuditTrail } from '../adapters/stores/libsql/audit/joined-audit-trail'
import { operatorActs } from '../adapters/stores/libsql/audit/operator-acts'
import { isControlOpened, registerCell } from '../adapters/stores/libsql/cluster/cell-database'
import { type ControlStores, openControlStores } from '../adapters/stores/libsql/control-stores'
import { Opened } from '../adapters/stores/libsql/driver/opened'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker/worker-threads'
import { eventsOfGateway, LibsqlControlEvents } from '../adapters/stores/libsql/notices/control-events'
import { type Database, openDatabase } from '../adapters/stores/libsql/open-database'
import type { ControlDatabase } from '../adapters/stores/libsql/shared-database'
import type { Config } from '../config'
import { type Clock, MINUTE_MS } from '../core/clock'
import type { CellName } from '../core/cluster/cells'
import { OnlyCopies } from '../core/cluster/control-changes'
import { AT_ONCE, type Opening } from '../core/cluster/opening'
import type { AccountId } from '../core/ids'
import type { RecentLatencies } from '../core/usage/recent-latencies'
import { EventCopies } from '../core/webhooks/event-moves'
import type { WebhookStore } from '../core/webhooks/webhook'
import type { Log } from '../log'
import { putBackNote } from './backup/after-restore'
import { upgradeCopy } from './backup/upgrade-copy'
import { type Cell, openCell } from './cell'
import type { CellMembership } from './cluster/cells/cell-membership'
import type { NodeSurroundings } from './cluster/gateway-node'

const CONTROL_WAIT_MS = MINUTE_MS
const CONTROL_LOOK_MS = 250

interface Surroundings {
  readonly clock: Clock
  readonly stopwatch: Clock
  readonly acceptsClock: boolean
  readonly log: Log
  readonly onFatal: (reason: string) => void
  readonly node?: NodeSurroundings
  readonly latencies: RecentLatencies | null
  readonly cell?: CellMembership
  readonly threads?: WorkerThreads
  readonly opening?: Opening
}

/**
 * Opens the database of the accounts. It is the control database, too, but for a cell other than `main` (ADR 45). Whatever was opened is closed if
 * this fails.
 */
export async function openDatabases(config: Config, surroundings: Surroundings) {
  const { clock, log, onFatal, node, threads, cell: membership, opening = AT_ONCE } = surroundings
  const opened = new Opened()
  const changes = membership?.changes ?? new OnlyCopies()
  const onTrouble = (what: string, reason: string) => log.error(`database: ${what}`, { reason })
  try {
    const options = {
      ...{ url: config.databaseUrl, authToken: config.databaseAuthToken, clock, onFatal, onTrouble },
      ...{ isSyncPromised: config.databaseSyncPromised, opening },
      ...{ ...(node && { lease: node.lease }), ...(threads && { threads }) },
      ...{ beforeUpgrade: upgradeCopy(config, surroundings), changes, cell: membership },
      onPutBack: putBackNote(config, clock),
    }
    const apart = membership?.apart ?? null
    if (apart) await untilControlOpened(apart.control, node?.mayGrant)
    // Changes of the control database are announced, and no others.
    const home = await openDatabase(apart ? { ...options, changes: undefined } : options, opened)
    const shared: ControlDatabase = apart?.control ?? home
    // A cell that is not registered yet is refused here if this is only prepared: its database cannot be written.
    if (membership) await registerCell(home.db, shared.db, membership.name, clock.now())
    const control = await openControlStores(shared, { signupBrakes: config.signupBrakes, onTrouble })
    const { copies } = control
    const refresh = async () => {
      if (!apart) await home.writes.settled()
      await copies.refresh()
    }
    opened.add(changes.join({ refresh }))
    // What was read beside the owner before.
    if (opening.isAhead) await opening.whenOwned(() => copies.refresh())
    const mayGrant = node?.mayGrant ?? null
    const onUndecided = node?.leaveUndecided
    const cell = await openCell({
      ...surroundings,
      ...{ database: home, opened, control, mayGrant, onUndecided, reserveBytes: config.diskReserveBytes },
    })
    const [audit, own] = [new LibsqlAuditTrail(shared.db), new LibsqlAuditTrail(home.db)]
    copies.add({ read: async () => () => cell.accounts.takeRoles() })
    const stores = {
      /** Where the accounts are, and where everything else is. */
      ...{ db: home.db, controlDb: shared.db },
      ...{ tokenChanges: shared.tokenChanges, ...control, ...cell.stores },
      /** Forgets a closed account where its own database does not. */
      forgetInControl: apart && forgetsElsewhere(shared, cell, control.cells, clock),
      audit: apart ? new JoinedAuditTrail(audit, own) : audit,
      operatorActs: operatorActs(home.db),
      /** Why a database does not respond now; null if all do. */
      problem: async () => (await home.problem()) ?? (apart && (await shared.problem())),
      eventCopies:
        membership && apart ? exchangedEvents(membership.name, shared, home, cell.stores.webhooks, clock) : [],
      sealedTexts: apart ? [cell.stores.sealedWebhooks] : [cell.stores.sealedWebhooks, control.sealedApis],
    }
    return { stores, cell, close: () => opened.closeInTime(onTrouble) }
  } catch (error) {
    await opened.close()
    throw error
  }
}

/** What the control database has of a closed account: it is forgotten there, and its keys lead nowhere any more. */
function forgetsElsewhere(
  shared: ControlDatabase,
  { credentials }: Pick<Cell, 'credentials'>,
  directory: Pick<ControlStores['cells'], 'endKeys'>,
  clock: Clock,
) {
  const forget = forgetInControl(shared.db)
  return async (account: AccountId): Promise<void> => {
    await forget(account)
    const keys = await credentials.byAccount(account)
    await directory.endKeys(
      keys.map(({ hash }) => hash),
      clock.now(),
    )
  }
}

/** At the first start of all nodes the gateway of `main` makes the tables; meanwhile requests of this cell wait. */
async function untilControlOpened({ db }: ControlDatabase, isHeld: () => boolean = () => true): Promise<void> {
  const end = performance.now() + CONTROL_WAIT_MS
  while (!(await isControlOpened(db).catch(() => false))) {
    if (performance.now() > end || !isHeld()) throw new Error('the gateway of main has not opened the control database')
    await Bun.sleep(CONTROL_LOOK_MS)
  }
}

/** The events of the control database that concern a cell, and those of the cell that concern the operators of all. */
function exchangedEvents(
  name: CellName,
  shared: ControlDatabase,
  home: Database,
  webhooks: Pick<WebhookStore, 'addEvents'>,
  clock: Clock,
): EventCopies[] {
  const control = new LibsqlControlEvents(shared.db, name)
  return [new EventCopies(control, webhooks, clock), new EventCopies(eventsOfGateway(home.db), control, clock)]
}
