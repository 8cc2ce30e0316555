import type { KeyStatus, KeysFilter } from '../keys.ts'

const STATUSES: readonly KeyStatus[] = ['active', 'disabled', 'expired', 'exhausted', 'revoked']
const SORTS = ['name', 'status', 'spent', 'last_used'] as const
const ORDERS = ['asc', 'desc'] as const

/** The state of the key list. `create` opens the form for a new key. */
export interface KeysView extends KeysFilter {
  readonly create?: true | undefined
}

/** Parses the state from the URL. Unknown values are dropped. */
export function keysView(search: Record<string, unknown>): KeysView {
  const q = search['q']
  return {
    status: STATUSES.find((value) => value === search['status']),
    // The router parses a search for digits as a number.
    q: typeof q === 'string' || typeof q === 'number' ? String(q).slice(0, 64) || undefined : undefined,
    sort: SORTS.find((value) => value === search['sort']),
    order: ORDERS.find((value) => value === search['order']),
    create: search['create'] === true || search['create'] === 'true' ? true : undefined,
  }
}
