import type { AuditEntry } from '../audit'
import type { Api, ApiPrice } from './api'
import { ApiRoutes } from './api-routes'

/** A price that an operation has or had. Append-only: charges refer to it by its id. */
export interface StoredPrice {
  readonly id: string
  readonly operation: string
  readonly price: ApiPrice
  readonly at: number
}

/**
 * Stores the APIs on sale. `save` and `remove` are atomic with their audit entry and durable when they resolve. A removed name cannot be
 * used again for 30 days (`removedAt`).
 */
export interface ApiStore {
  all(): Promise<readonly Api[]>
  /** Inserts or replaces an API with all its operations and the prices that are new. False if `expected`, its last `updatedAt`, is outdated. */
  save(api: Api, expected: number | null, audit: AuditEntry): Promise<boolean>
  /** False if there is no such API. */
  remove(name: string, at: number, audit: AuditEntry): Promise<boolean>
  /** When an API of this name was removed last, or null. */
  removedAt(name: string): Promise<number | null>
  /** The price behind a charge, to explain it. */
  price(id: string): Promise<StoredPrice | null>
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
