import type { AccountId, RequestId } from '../ids'

/**
 * `kept`: the response is stored. `too_large`: it was delivered but not stored. `cut`: a stream broke off and was charged for what
 * was delivered. `reserved`: a write or stream was started, and its outcome is unknown.
 */
export type IdempotencyState = 'reserved' | 'kept' | 'too_large' | 'cut'

/** What is recorded under an account's `Idempotency-Key`, per operation (spec-answers 5). */
export interface IdempotencyRecord {
  readonly account: AccountId
  readonly operation: string
  readonly key: string
  /** The request's fingerprint (`fingerprintOf`). A different request with the same key is refused. */
  readonly fingerprint: string
  readonly state: IdempotencyState
  readonly requestId: RequestId
  readonly body: string | null
  readonly headers: Readonly<Record<string, string>>
  readonly at: number
}

/** How long a response is stored. */
export const KEPT_MS = 24 * 3_600_000
/** Larger responses are not stored, and repeats get an error that says so. */
export const MAX_KEPT_BYTES = 256 * 1024

/** The text of a response to store, or null when it is too large. */
export function keepable(body: string | Uint8Array): string | null {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body)
  return Buffer.byteLength(text) > MAX_KEPT_BYTES ? null : text
}

export type IdempotencyPlace = Pick<IdempotencyRecord, 'account' | 'operation' | 'key'>

/**
 * Stores records under idempotency keys. A successful response is stored in the commit of its charge (`JournalRecord.kept`), so that
 * neither exists without the other.
 */
export interface IdempotencyRecords {
  /** Sees every response whose charge was acknowledged. */
  find(place: IdempotencyPlace, now: number): Promise<IdempotencyRecord | null>
  /** Records the start of a write or stream, durable when it resolves. Returns false when the key is taken. */
  reserve(answer: IdempotencyRecord): Promise<boolean>
  /** Removes a reservation when the request certainly had no effect. */
  free(place: IdempotencyPlace, requestId: RequestId): Promise<void>
  /** Deletes expired records. */
  prune(now: number): Promise<void>
}
