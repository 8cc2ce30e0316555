import type { HeldCell } from '../../../core/cluster/leases'
import type { CellLoad } from './cell-load'

/** A gateway that owns the accounts of a cell. */
export interface OwnedGateway {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly control: (request: Request) => Promise<Response>
  readonly stopping: { drain(): void }
  /** Resolves when no call is in progress. Aborts those that still run after `maxMs`. */
  streamsEnded(maxMs: number): Promise<void>
  /** How much there is in the cell. */
  readonly load?: () => Promise<CellLoad>
  close(): Promise<void>
}

/** What a gateway needs to know about the lease under which it runs, or will run: its term is known from then on. */
export interface Ownership {
  readonly lease: HeldCell & { readonly nodeId: string }
  readonly mayGrant: () => boolean
  /** Another process owns the database, or an essential part died. */
  readonly onLost: (reason: string) => void
}

/** A gateway that is ready but for what only the owner of the accounts may do. */
export interface PreparedGateway<G> {
  /** Does that, once the node has the lease. Rejects if the gateway cannot be used; it is closed then. */
  begin(): Promise<G>
  close(): Promise<void>
}
