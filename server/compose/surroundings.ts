import type { IdentityOptions } from '../adapters/identity/identity-options'
import type { WorkerThreads } from '../adapters/stores/libsql/driver/worker/worker-threads'
import type { Clock } from '../core/clock'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import type { DataProviders } from '../http/middleware/priced'
import type { DashboardFiles } from '../http/system/dashboard-files'
import type { Log } from '../log'

export interface Surroundings {
  readonly clock: Clock
  /** Whether a clock is believed that is far from the last entry's time. */
  readonly acceptsClock: boolean
  /** A monotonic clock, for tests. */
  readonly stopwatch?: Clock
  readonly log: Log
  /** Called when the process must end: another one owns the database, or an essential worker died. */
  readonly onFatal: (reason: string) => void
  /** Requests to untrusted URLs, for tests. */
  readonly outbound?: OutboundFetch
  /** The ping interval of live connections, for tests. */
  readonly pingMs?: number
  /** Search providers, for tests. */
  readonly providers?: ClosableProviders
  /** The built dashboard, if it is already loaded, for tests. */
  readonly dashboard?: DashboardFiles
  /** A hash of passwords that takes no time, for tests. */
  readonly passwordHash?: IdentityOptions['passwordHash']
  /** The worker threads of the stores, for tests. */
  readonly threads?: WorkerThreads
}

export interface ClosableProviders extends DataProviders {
  /** Whether each provider can respond now, by name, for `/ready`. */
  sources?(): Promise<Readonly<Record<string, boolean>>>
  close?(): Promise<void>
}
