import type { AuditEntry } from '../audit'
import type { ImportedName } from '../catalog/operation'
import type { PriceId } from '../ids'
import type { Api, ApiPrice } from './api'
import { ApiRoutes } from './api-routes'

/** A price that an operation has or had. Append-only: charges refer to it by its id. */
export interface StoredPrice {
  readonly id: PriceId
  readonly operation: ImportedName
  readonly price: ApiPrice
  readonly at: number
}

/**
 * A change of one API, with its audit entry. `save` inserts or replaces it with all its operations and the prices that are new, and opens
 * `reopened` to the accounts that they are closed to. `expected`: its `updatedAt` before the change, null if it is new.
 */
export type ApiWrite =
  | {
      readonly kind: 'save'
      readonly api: Api
      readonly expected: number | null
      readonly reopened: readonly ImportedName[]
      readonly audit: AuditEntry
    }
  | {
      readonly kind: 'remove'
      readonly name: string
      readonly at: number
      readonly expected: number
      readonly audit: AuditEntry
    }

/** Stores the APIs on sale. A removed name cannot be used again for 30 days (`removedAt`). */
export interface ApiStore {
  all(): Promise<readonly Api[]>
  /** Makes all changes, or none: false if one of the APIs is not as expected. They are durable when it resolves. */
  write(changes: readonly ApiWrite[]): Promise<boolean>
  /** When an API of this name was removed last, or null. */
  removedAt(name: string): Promise<number | null>
  /** The price behind a charge, to explain it. */
  price(id: string): Promise<StoredPrice | null>
  /** All prices of an operation, the newest first. */
  pricesOf(operation: ImportedName): Promise<readonly StoredPrice[]>
  /** Every MCP tool name that was ever given, and to which operation. A tool name is never given to another operation. */
  toolNames(): Promise<ReadonlyMap<string, ImportedName>>
}

/** The APIs on sale now, in memory. Replaced in one step, without a restart; calls in progress keep what they were admitted with. */
export class ApiRegistry {
  private current = new ApiRoutes([])

  get routes(): ApiRoutes {
    return this.current
  }

  replace(apis: readonly Api[]): void {
    this.current = new ApiRoutes(apis)
  }
}
