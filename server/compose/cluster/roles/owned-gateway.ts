import type { HeldCell } from '../../../core/cluster/leases'
import type { CellLoad } from './cell-load'

/** A gateway that owns the accounts of a cell. */
export interface OwnedGateway {
  readonly fetch: (request: Request) => Response | Promise<Response>
  readonly control: (request: Request) => Promise<Response>
  readonly stopping: { drain(): void }
  /** Resolves when no call is in progress. Aborts those still running after `maxMs`. */
  streamsEnded(maxMs: number): Promise<void>
  /** The load of the cell. */
  readonly load?: () => Promise<CellLoad>
  close(): Promise<void>
}

/** What a gateway needs to know about the lease under which it runs. A prepared gateway learns the term when it begins. */
export interface Ownership {
  readonly lease: HeldCell & { readonly nodeId: string }
  readonly mayGrant: () => boolean
  /** Another process owns the database, or an essential part died. */
  readonly onLost: (reason: string) => void
}

/** A gateway that is ready except for what only the owner of the accounts may do. */
export interface PreparedGateway<G> {
  /** Completes it once the node has the lease. Closes the gateway and rejects if it cannot be used. */
  begin(): Promise<G>
  close(): Promise<void>
}
