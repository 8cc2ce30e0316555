import type { AccountId, RequestId } from '../ids'

/**
 * `kept`: the answer is here. `too_large`: it was given, and not kept. `cut`: it broke off, and was charged for what went through.
 * `reserved`: what is not simply done again was begun, a write or a stream, and nobody knows how it ended.
 */
export type IdempotencyState = 'reserved' | 'kept' | 'too_large' | 'cut'

/** What an `Idempotency-Key` of an account stands for, per operation (spec-answers 5). */
export interface IdempotencyRecord {
  readonly account: AccountId
  readonly operation: string
  readonly key: string
  /** Of the request (`fingerprintOf`): another one under the same key is refused. */
  readonly fingerprint: string
  readonly state: IdempotencyState
  readonly requestId: RequestId
  readonly body: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly at: number
}

/** How long an answer is kept. */
export const KEPT_MS = 24 * 3_600_000
/** A larger answer is not kept; its repeat is told so. */
export const MAX_KEPT_BYTES = 256 * 1024

/** The text of an answer, as it is kept; null for one that is too large. */
export function keepable(body: string | Uint8Array): string | null {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return Buffer.byteLength(text) > MAX_KEPT_BYTES ? null : text
}

export type IdempotencyPlace = Pick<IdempotencyRecord, 'account' | 'operation' | 'key'>

/**
 * What is kept under idempotency keys. The answer of a success comes with the commit of its charge (`JournalRecord.kept`), so
 * that there is never one without the other.
 */
export interface IdempotencyRecords {
  /** Sees every answer whose charge was acknowledged. */
  find(place: IdempotencyPlace, now: number): Promise<IdempotencyRecord | null>
  /** Writes that a write or a stream begins under this key; durable when it resolves. False when the key is taken. */
  reserve(answer: IdempotencyRecord): Promise<boolean>
  /** Takes back a reservation of what surely did not happen. */
  free(place: IdempotencyPlace, requestId: RequestId): Promise<void>
  /** Forgets what is older than it is kept. */
  prune(now: number): Promise<void>
}
