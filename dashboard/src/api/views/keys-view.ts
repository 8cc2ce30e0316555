import type { KeyStatus, KeysFilter } from '../keys.ts'

const STATUSES: readonly KeyStatus[] = ['active', 'disabled', 'expired', 'exhausted', 'revoked']
const SORTS = ['name', 'status', 'spent', 'last_used'] as const
const ORDERS = ['asc', 'desc'] as const

/** A view of the list of keys; with `create` the form of a new one is open. */
export interface KeysView extends KeysFilter {
  readonly create?: true | undefined
}

/** Out of the address of the page; what is none of ours is left out. */
export function keysView(search: Record<string, unknown>): KeysView {
  const q = search['q']
  return {
    status: STATUSES.find((value) => value === search['status']),
    // A search for digits comes back from the address as a number.
    q: typeof q === 'string' || typeof q === 'number' ? String(q).slice(0, 64) || undefined : undefined,
    sort: SORTS.find((value) => value === search['sort']),
    order: ORDERS.find((value) => value === search['order']),
    create: search['create'] === true || search['create'] === 'true' ? true : undefined,
  }
}
