import type { SoldName } from '../catalog/operation'
import type { SoldOperation } from './api-routes'

/** A key's rules about the operations that it may call. */
export interface EndpointList {
  /** Empty: there is no list. */
  readonly allowedEndpoints: readonly SoldName[]
  /** When the list was set; null means with the key. */
  readonly endpointsAt: number | null
  readonly createdAt: number
}

/**
 * Whether a key may call an imported operation. A key without a list may call every read, and no write: a key that was made before an
 * API was imported never gains the right to change something there. A list counts only for an API that was there when the list was set,
 * so that lists of a removed API do not revive when its name is used again.
 */
export function mayCallImported(key: EndpointList, { api, operation }: SoldOperation): boolean {
  if (key.allowedEndpoints.length === 0) return operation.effect === 'read'
  return key.allowedEndpoints.includes(operation.name) && (key.endpointsAt ?? key.createdAt) >= api.createdAt
}
