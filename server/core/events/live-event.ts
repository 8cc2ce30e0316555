import type { KeyId } from '../ids'
import type { CallRecord } from '../usage/call-record'

/**
 * Something that an owner who looks at the dashboard wants to see at once. An event is a hint, never the record: it says what
 * changed, and who needs the figures reads them where they stand.
 */
export type LiveEvent =
  /** A call of a key ended; a charged one is durable by then. */
  | { readonly type: 'call'; readonly call: CallRecord }
  /** A key was made or changed. */
  | { readonly type: 'key'; readonly id: KeyId }
  | { readonly type: 'balance' }
  /** The tier or the limits of the account changed, or a request for more was decided. */
  | { readonly type: 'tier' }
  /** The social account of a key was linked, refused or lost; null when it is not about one key. */
  | { readonly type: 'social'; readonly keyId: KeyId | null }
  /** A top-up moved on; `id` names its payment where there is one. */
  | { readonly type: 'topup'; readonly id: string | null }
  /** A session of the owner ended: who listens must ask whether its own still holds. Never sent out. */
  | { readonly type: 'session' }
  /** More happened than could be kept for this listener. */
  | { readonly type: 'missed' }
