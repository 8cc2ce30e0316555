import { hash, randomBytes } from 'node:crypto'

type Id<P extends string> = `${P}_${string}`

export type AccountId = Id<'acct'>
export type KeyId = Id<'key'>
export type PoolId = Id<'pool'>
export type RequestId = Id<'req'>
export type TransactionId = Id<'txn'>
export type PriceId = Id<'price'>
export type AuditId = Id<'audit'>
export type LimitRequestId = Id<'lim'>
export type SocialSessionId = Id<'soc'>
export type SocialLinkId = Id<'link'>
export type PaymentId = Id<'pay'>
export type WebhookId = Id<'hook'>
export type DeliveryId = Id<'dlv'>
export type NoteId = Id<'note'>
export type RefundId = Id<'rfd'>
export type ReconciliationId = Id<'rec'>
export type StuckId = Id<'stuck'>
export type AppGrantId = Id<'conn'>

/** The credential of a call as it appears in the log: an API key or an app grant (ADR 12). */
export type CredentialId = KeyId | AppGrantId

export type IdPrefix =
  | 'acct'
  | 'key'
  | 'pool'
  | 'req'
  | 'txn'
  | 'price'
  | 'audit'
  | 'soc'
  | 'link'
  | 'pay'
  | 'conn'
  | 'lim'
  | 'hook'
  | 'dlv'
  | 'evt'
  | 'note'
  | 'rfd'
  | 'rec'
  | 'stuck'

/** Random bytes are drawn in bulk: one system call serves 640 ids. */
const RANDOM_BYTES = 640 * 8
let random = Buffer.alloc(0)
let used = 0
let lastMs = 0
let sequence = 0
/** The UUID of the last id. */
const uuid = Buffer.alloc(16)

/**
 * Creates an id: a prefix and the 32 hex digits of a UUIDv7 (RFC 9562). Ids sort by creation time (spec D1). Within one process
 * they sort strictly by creation order, even when the clock stops or goes backwards.
 */
export function makeId<P extends IdPrefix>(prefix: P, nowMs: number): Id<P> {
  if (nowMs > lastMs || ++sequence > 0xfff) {
    lastMs = Math.max(nowMs, lastMs + 1)
    sequence = 0
    uuid.writeUIntBE(lastMs, 0, 6)
  }
  if (used + 8 > random.length) {
    random = randomBytes(RANDOM_BYTES)
    used = 0
  }
  uuid[6] = 0x70 | (sequence >> 8)
  uuid[7] = sequence & 0xff
  for (let at = 8; at < 16; at++) uuid[at] = random[used++] ?? 0
  uuid[8] = 0x80 | ((uuid[8] ?? 0) & 0x3f)
  return `${prefix}_${uuid.toString('hex')}` as Id<P>
}

/** The id of the pool in which all of an account counts. */
export function accountPool(account: AccountId): PoolId {
  return `pool_${account.slice('acct_'.length)}`
}

/** The id of the pool in which the keys and apps of a member count. */
export function memberPool(account: AccountId, userId: string): PoolId {
  return `pool_${hash('sha256', `${account}\n${userId}`).slice(0, 32)}`
}

/** When an id with this prefix was created, in milliseconds; null for any other text. */
export function idTime(prefix: IdPrefix, id: string): number | null {
  return id.startsWith(`${prefix}_`) ? Number.parseInt(id.slice(prefix.length + 1, prefix.length + 13), 16) : null
}

/** The beginning of ids that are created at this time: it sorts before all of them, and after those of earlier times. */
export function idStart(prefix: IdPrefix, ms: number): string {
  return `${prefix}_${Math.max(0, ms).toString(16).padStart(12, '0')}`
}
