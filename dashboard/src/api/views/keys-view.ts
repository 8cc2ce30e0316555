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
  return {
    status: STATUSES.find((value) => value === search['status']),
    q: text(search['q'], 64),
    tag: text(search['tag'], 32),
    sort: SORTS.find((value) => value === search['sort']),
    order: ORDERS.find((value) => value === search['order']),
    create: search['create'] === true || search['create'] === 'true' ? true : undefined,
  }
}

/** The router parses a search for digits as a number. */
function text(value: unknown, max: number): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value).slice(0, max) || undefined : undefined
}
