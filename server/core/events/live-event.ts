import type { KeyId } from '../ids'
import type { CallRecord } from '../usage/call-record'

/**
 * A change that the dashboard shows at once. An event is only a hint about what changed: clients read the figures from the API.
 */
export type LiveEvent =
  /** A call of a key ended. If it was charged, the charge is durable. */
  | { readonly type: 'call'; readonly call: CallRecord }
  /** A key was created or changed. */
  | { readonly type: 'key'; readonly id: KeyId }
  | { readonly type: 'balance' }
  /** The tier or the limits of the account changed, or a request for more was decided. */
  | { readonly type: 'tier' }
  /** A key's social account was linked, refused or lost. Null when the change is not about one key. */
  | { readonly type: 'social'; readonly keyId: KeyId | null }
  /** A top-up changed. `id` is its payment, if it has one. */
  | { readonly type: 'topup'; readonly id: string | null }
  /** A session of the owner ended, so listeners must check their own. Never sent to clients. */
  | { readonly type: 'session' }
  /** This listener was too slow, and events were dropped. */
  | { readonly type: 'missed' }
