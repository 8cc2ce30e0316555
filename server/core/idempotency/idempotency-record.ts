import { DAY_MS } from '../clock'
import type { AccountId, RequestId } from '../ids'

/**
 * `kept`: the response is stored. `given`: it was also given to a repeat, so its charge is final. `too_large`: it was delivered but not stored. `cut`: a stream broke off and was charged for what
 * was delivered. `reserved`: a write or stream was started, and its outcome is unknown.
 */
export type IdempotencyState = 'reserved' | 'kept' | 'given' | 'too_large' | 'cut'

/** The record under an account's `Idempotency-Key`, per operation (spec D5). */
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
export const RETENTION_MS = DAY_MS
/** Larger responses are not stored, and repeats get an error that says so. */
export const MAX_STORED_BYTES = 256 * 1024

/** The text of a response to store, or null when it is too large or not text. */
export function keepable(body: string | Uint8Array): string | null {
  if (body.length > MAX_STORED_BYTES) return null
  const text = typeof body === 'string' ? body : utf8Text(body)
  return text === null || Buffer.byteLength(text) > MAX_STORED_BYTES ? null : text
}

/** A response as it was sent. */
export interface SentAnswer {
  /** 200 if absent. */
  readonly status?: number
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly headers: Readonly<Record<string, string>>
}

/** Stored with the headers. No header's name begins with a colon. */
const STATUS = ':status'
const ENCODING = ':encoding'

/** A response as it is stored: bytes that are not text as base64. Null when it is too large. */
export function storedAnswer({
  status,
  body,
  headers,
}: Omit<SentAnswer, 'body'> & { readonly body: string | Uint8Array }): Pick<
  IdempotencyRecord,
  'body' | 'headers'
> | null {
  const text = keepable(body)
  if (text === null && body.length > MAX_STORED_BYTES) return null
  const isPlain = text !== null
  if (!isPlain && typeof body === 'string') return null
  return {
    body: text ?? Buffer.from(body).toString('base64'),
    headers: {
      ...headers,
      ...(status !== undefined && status !== 200 && { [STATUS]: String(status) }),
      ...(!isPlain && { [ENCODING]: 'base64' }),
    },
  }
}

/** The response that was stored. */
export function sentAnswer({ body, headers }: Pick<IdempotencyRecord, 'body' | 'headers'>): SentAnswer {
  const { [STATUS]: status, [ENCODING]: encoding, ...rest } = headers
  const text = body ?? ''
  return {
    body: encoding === 'base64' ? new Uint8Array(Buffer.from(text, 'base64')) : text,
    headers: rest,
    ...(status !== undefined && { status: Number(status) }),
  }
}

function utf8Text(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return null
  }
}

export type IdempotencyId = Pick<IdempotencyRecord, 'account' | 'operation' | 'key'>

/**
 * Stores records under idempotency keys. A successful response is stored in the commit of its charge (`JournalRecord.kept`), so that
 * neither exists without the other.
 */
export interface IdempotencyRecords {
  /** Sees every response whose charge was acknowledged. */
  find(id: IdempotencyId, now: number): Promise<IdempotencyRecord | null>
  /** Records the start of a write or stream, durable when it resolves. Returns false when the key is taken. */
  reserve(answer: IdempotencyRecord): Promise<boolean>
  /** Marks a stored response as given to a repeat, durable when it resolves. Returns false when the response is gone. */
  give(answer: IdempotencyRecord): Promise<boolean>
  /** Removes a reservation when the request certainly had no effect. */
  free(id: IdempotencyId, requestId: RequestId): Promise<void>
  /** Deletes expired records. */
  prune(now: number): Promise<void>
}
