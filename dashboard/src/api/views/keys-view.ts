import type { KeyStatus, KeysFilter } from '../keys.ts'
import { addressText } from './address-text.ts'

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
    q: addressText(search['q'], 64),
    tag: addressText(search['tag'], 32),
    sort: SORTS.find((value) => value === search['sort']),
    order: ORDERS.find((value) => value === search['order']),
    create: search['create'] === true || search['create'] === 'true' ? true : undefined,
  }
}
