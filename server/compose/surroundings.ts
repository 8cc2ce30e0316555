import type { IdentityOptions } from '../adapters/identity/identity'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker/worker-threads'
import type { Clock } from '../core/clock'
import type { Opening } from '../core/cluster/opening'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import type { DataProviders } from '../http/middleware/priced'
import type { ContextDeps } from '../http/middleware/request-context'
import type { OtherCells } from '../http/operator/cells/operator-cells'
import type { DashboardFiles } from '../http/system/dashboard-files'
import type { Log } from '../log'
import type { CellMembership } from './cluster/cells/cell-membership'
import type { NodeSurroundings } from './cluster/gateway-node'
import type { SearchIndex } from './search/search-index'

export interface Surroundings {
  readonly clock: Clock
  /** Whether a clock is believed that is far from the last entry's time. */
  readonly acceptsClock: boolean
  /** A monotonic clock, for tests. */
  readonly stopwatch?: Clock
  readonly log: Log
  /** Called when the process must end: another one owns the database, or an essential worker died. */
  readonly onFatal: (reason: string) => void
  /** Of one node of many (ADR 46). */
  readonly node?: NodeSurroundings
  /** If there are several cells (ADR 45): how this gateway reaches the others. */
  readonly others?: OtherCells
  /** If there are several cells: the operator for whom `main` asks this gateway. */
  readonly staffOf?: NonNullable<ContextDeps['staffOf']>
  /** Requests to untrusted URLs, for tests. */
  readonly outbound?: OutboundFetch
  /** The ping interval of live connections, for tests. */
  readonly pingMs?: number
  /** Search providers, for tests. */
  readonly providers?: ClosableProviders
  /** A hash of passwords that takes no time, for tests. */
  readonly passwordHash?: IdentityOptions['passwordHash']
  /** The search index, if the gateways of a process share it. */
  readonly index?: SearchIndex
  /** The built dashboard, if it is already loaded: the gateways of a process share it. */
  readonly dashboard?: DashboardFiles
  /** One of several cells; without it the gateway is alone (ADR 52). */
  readonly cell?: CellMembership
  /** When it owns the accounts; at once if it does not say. */
  readonly opening?: Opening
  /** The worker threads of the stores, for tests. */
  readonly threads?: WorkerThreads
}

export interface ClosableProviders extends DataProviders {
  /** Whether each provider can respond now, by name, for `/ready`. */
  sources?(): Promise<Readonly<Record<string, boolean>>>
  close?(): Promise<void>
}
