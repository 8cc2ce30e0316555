import type { FailureCode } from '../../../server/core/failure.ts'

/** Which form of a key a link opens, and its field; `none` for its page. */
export type KeyFormName = 'edit' | 'limit' | 'expires' | 'none'

/** One thing that an owner can do about a failure. */
export type SingleAction =
  /** `keyForm`: where the key is known, the link leads to it and opens this form. */
  | { readonly kind: 'link'; readonly label: string; readonly to: string; readonly keyForm?: KeyFormName }
  | { readonly kind: 'sign_in'; readonly label: string }
  | { readonly kind: 'reload'; readonly label: string }
  /** Only text, because the dashboard cannot contact the operator itself. */
  | { readonly kind: 'contact_operator'; readonly text: string }

/** What an owner can do about a failure. The server's message says what happened, and which of several things helps. */
export type FailureAction = SingleAction | { readonly kind: 'one_of'; readonly actions: readonly SingleAction[] }

/** Where the failure occurred: in a call of the dashboard itself, or in a request that is charged to a key. */
export type FailurePlace = 'dashboard' | 'request'

type Actions = { readonly [P in FailurePlace]?: FailureAction }

const SIGN_IN: FailureAction = { kind: 'sign_in', label: 'Sign in again' }
const SECOND_FACTOR: FailureAction = {
  kind: 'one_of',
  actions: [SIGN_IN, { kind: 'link', label: 'Set up a second factor', to: '/settings' }],
}
const RELOAD: FailureAction = { kind: 'reload', label: 'Reload the page' }
const CONTACT: FailureAction = {
  kind: 'contact_operator',
  text: 'If this keeps happening, contact the operator of this gateway.',
}
const CREATE_KEY: FailureAction = { kind: 'link', label: 'Create key', to: '/keys' }
const ENABLE_KEY: FailureAction = { kind: 'link', label: 'Enable key', to: '/keys', keyForm: 'none' }
const EXTEND_KEY: FailureAction = { kind: 'link', label: 'Extend key', to: '/keys', keyForm: 'expires' }
const EDIT_KEY: FailureAction = { kind: 'link', label: 'Edit key', to: '/keys', keyForm: 'edit' }
const RAISE_LIMIT: FailureAction = { kind: 'link', label: 'Raise limit', to: '/keys', keyForm: 'limit' }
const RAISE_BUDGET: FailureAction = { kind: 'link', label: 'Raise budget', to: '/keys', keyForm: 'edit' }
const TOP_UP: FailureAction = { kind: 'link', label: 'Top up', to: '/billing' }
const VIEW_LIMITS: FailureAction = { kind: 'link', label: 'View limits', to: '/limits' }
const LINK_ACCOUNT: FailureAction = { kind: 'link', label: 'Link account', to: '/social' }
const ADD_PERMISSION: FailureAction = { kind: 'link', label: 'Add permission', to: '/social' }

/** No action: the message says whether to correct the request, wait or try again. */
const NONE: Actions = {}

/** Actions by failure code. A new code without a row does not compile. Explained in docs/dashboard.md. */
const ACTIONS: Readonly<Record<FailureCode, Actions>> = {
  missing_parameter: NONE,
  invalid_parameter: NONE,
  json_parse_error: { dashboard: RELOAD },
  invalid_request: NONE,
  missing_session: { dashboard: SIGN_IN, request: SIGN_IN },
  not_a_member: { dashboard: RELOAD },
  recent_sign_in_required: { dashboard: SIGN_IN },
  second_factor_required: { dashboard: SECOND_FACTOR },
  missing_api_key: { request: CREATE_KEY },
  invalid_api_key: { request: CREATE_KEY },
  invalid_token: NONE,
  api_key_disabled: { request: ENABLE_KEY },
  expired_api_key: { request: EXTEND_KEY },
  payment_required: { request: CREATE_KEY },
  malformed_credential: NONE,
  invalid_challenge: NONE,
  payment_expired: NONE,
  invalid_payload: NONE,
  verification_failed: NONE,
  payment_in_progress: NONE,
  payment_pending: NONE,
  payment_network_unavailable: NONE,
  recharge_required: { request: TOP_UP },
  insufficient_api_key_balance: { request: RAISE_LIMIT },
  insufficient_balance: { request: TOP_UP },
  account_suspended: NONE,
  account_under_review: { request: CONTACT },
  ip_not_allowed: { request: EDIT_KEY },
  insufficient_permissions: { request: EDIT_KEY },
  insufficient_scope: { request: ADD_PERMISSION },
  social_session_required: { request: LINK_ACCOUNT },
  foreign_origin: NONE,
  model_not_allowed: { request: EDIT_KEY },
  unknown_endpoint: { dashboard: RELOAD },
  unknown_model: NONE,
  model_route_not_supported: NONE,
  max_tokens_exceeded: { request: VIEW_LIMITS },
  unsupported_parameter: NONE,
  resource_not_found: { dashboard: RELOAD },
  method_not_allowed: { dashboard: RELOAD },
  not_acceptable: NONE,
  payload_too_large: NONE,
  request_timeout: NONE,
  unsupported_media_type: { dashboard: RELOAD },
  idempotency_conflict: NONE,
  answer_not_kept: NONE,
  outcome_unknown: NONE,
  limit_reached: NONE,
  invalid_state: NONE,
  estimated_price_exceeds_max_price: NONE,
  rate_limit_exceeded: { request: VIEW_LIMITS },
  upstream_rate_limit: NONE,
  quota_exceeded: { request: RAISE_BUDGET },
  internal_error: { dashboard: CONTACT, request: CONTACT },
  service_unavailable: NONE,
  upstream_error: NONE,
  upstream_unavailable: { request: CONTACT },
  upstream_timeout: NONE,
}

/** The action for a code at a place; null if there is none, as for codes that are not the gateway's own. */
export function failureAction(code: string, place: FailurePlace): FailureAction | null {
  const row: Actions | undefined = Object.hasOwn(ACTIONS, code) ? Reflect.get(ACTIONS, code) : undefined
  return row?.[place] ?? null
}

export const FAILURE_TEXT = {
  /** Used if the server sent no message. */
  noResponse: "Couldn't reach the gateway. Check your connection and try again.",
  unreadable: (status: number) => `The gateway returned an unreadable response (status ${status}). Try again.`,
  request: (id: string) => `Request ${id}`,
  viewApp: 'View apps',
  retryIn: (seconds: number) => `You can try again in ${seconds} s.`,
  stale: 'The data shown may be out of date.',
  couldNotSave: (message: string) => `Couldn't save: ${message}`,
} as const
