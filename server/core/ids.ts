import { randomBytes } from 'node:crypto'

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
export type AppGrantId = Id<'conn'>

/** What a call was made with, as the log names it: a key, or the connection of an app (ADR 12). */
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

const RANDOM_POOL = 10 * 512
let pool = Buffer.alloc(0)
let used = 0
let lastMs = 0
let sequence = 0

/**
 * Makes an id of prefix and UUIDv7 body (32 hex digits), so that ids sort by the time they were made (spec-answers 1),
 * and, inside one process, strictly by the order they were made in, also when the clock stands still or goes back.
 */
export function makeId<P extends IdPrefix>(prefix: P, nowMs: number): Id<P> {
  if (nowMs > lastMs) {
    lastMs = nowMs
    sequence = 0
  } else if (++sequence > 0xfff) {
    lastMs++
    sequence = 0
  }
  if (used + 8 > pool.length) {
    pool = randomBytes(RANDOM_POOL)
    used = 0
  }
  const tail = pool.toString('hex', used, used + 8)
  used += 8
  const variant = ((Number.parseInt(tail[0] ?? '0', 16) & 0x3) | 0x8).toString(16)
  const head = lastMs.toString(16).padStart(12, '0')
  return `${prefix}_${head}7${sequence.toString(16).padStart(3, '0')}${variant}${tail.slice(1)}` as Id<P>
}
