import { membersOf, parsedJson } from '../../core/json'
import type { ModelUpstream } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import { retryAfterSeconds } from '../../core/retry-after'
import type { BackendCall } from '../../pipeline/models/model-backend'

/** How to call one vendor, and what its refusals mean. */
export interface Vendor {
  url(upstream: ModelUpstream, call: BackendCall): string
  headers(key: string | null): Record<string, string>
  /** The headers that depend on the call; null if there are none. */
  callHeaders?(call: BackendCall): Readonly<Record<string, string>> | null
  /** Whether a refusal is about our own credential or balance there, whatever its status. */
  isAboutUs(status: number, error: VendorError): boolean
  /** The retry delay in the body, in seconds. */
  waitSeconds(error: VendorError): number | null
}

/** A vendor's parsed error body; empty when it is not one. */
export type VendorError = Readonly<Record<string, unknown>>

/** A refusal: the caller's failure, and whether to try the next upstream, or this one again. */
export interface VendorRefusal {
  readonly failure: UpstreamFailure
  readonly goOn: boolean
  /** Whether the upstream itself is at fault. */
  readonly isFault: boolean
  /** It could not be reached, which no call causes. */
  readonly isUnreachable?: true
  /** What the vendor said, if the call is not to blame. For operators only. */
  readonly said?: { readonly status: number; readonly words: string }
  /** Seconds after which the vendor allows a retry; null when it does not. */
  readonly retryAfter: number | null
}

/** A 200 with a body that is no answer. The call itself may have caused it, so the upstream's health is not in doubt. */
export const WRONG_BODY: VendorRefusal = {
  failure: {
    kind: 'error',
    reason: 'the body of a 200 is no answer: an error, a page, or empty',
    isAboutRequest: true,
  },
  goOn: true,
  isFault: false,
  retryAfter: null,
}

/** A 200 that is compressed although the request forbids it. Unpacked, it could be any number of times as long. */
export const ENCODED: VendorRefusal = {
  failure: { kind: 'error', reason: 'the answer is compressed, although the request asked for none' },
  goOn: true,
  isFault: true,
  retryAfter: null,
}

const MAX_WAIT = 86_400

/** The meaning of a vendor's refusal. */
export function vendorRefusal(vendor: Vendor, status: number, headers: Headers, body: string): VendorRefusal {
  const error = errorOf(body)
  const wait = headerWait(headers) ?? vendor.waitSeconds(error)
  const retryAfterSeconds = wait === null ? {} : { retryAfterSeconds: Math.max(1, Math.ceil(wait)) }
  const shouldRetry = headers.get('x-should-retry')
  const retryAfter = shouldRetry === 'false' ? null : (wait ?? (shouldRetry === 'true' ? 0.5 : null))
  if ([401, 402, 403].includes(status) || vendor.isAboutUs(status, error))
    return {
      failure: { kind: 'unavailable', reason: `status ${status}: the provider refused our own credential or balance` },
      goOn: true,
      isFault: false,
      retryAfter: null,
    }
  if (status === 429)
    return {
      failure: { kind: 'rate_limited', reason: 'status 429', ...retryAfterSeconds },
      goOn: true,
      isFault: false,
      retryAfter,
    }
  if (status === 503 || status === 529)
    return {
      failure: { kind: 'unavailable', reason: `status ${status}`, ...retryAfterSeconds },
      goOn: true,
      isFault: true,
      retryAfter: retryAfter ?? 0.5,
    }
  if (status === 408 || status === 504)
    return { failure: { kind: 'timeout', reason: `status ${status}` }, goOn: true, isFault: true, retryAfter }
  if (status >= 500 || status < 400)
    return { failure: { kind: 'error', reason: `status ${status}` }, goOn: true, isFault: true, retryAfter }
  const contentType = headers.get('content-type') ?? 'application/json'
  return {
    failure: { kind: 'error', reason: `status ${status}`, passThrough: { status, contentType, body } },
    goOn: false,
    isFault: false,
    retryAfter: null,
  }
}

/** `retry-after-ms`, or `Retry-After` as seconds or as a date. */
function headerWait(headers: Headers): number | null {
  const ms = Number(headers.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0 && ms <= MAX_WAIT * 1000) return ms / 1000
  const seconds = retryAfterSeconds(headers.get('retry-after'))
  return seconds !== null && seconds <= MAX_WAIT ? seconds : null
}

/** The error's code only: its message may contain the URL. */
export function codeOf(error: unknown): string {
  const code: unknown = Object(error).code
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown'
}

function errorOf(body: string): VendorError {
  try {
    const error: unknown = Object(JSON.parse(body)).error
    return typeof error === 'object' && error !== null ? { ...error } : {}
  } catch {
    return {}
  }
}

/** The beginning of what a vendor says to a refusal. */
const MAX_WORDS = 300

/** A vendor's own words, without our key or a part of it that the vendor repeats. */
export function wordsOf(body: string, key: string | null): string {
  // A page of a proxy is no JSON, and has no members.
  const { error, message } = membersOf(parsedJson(body))
  const said: unknown = membersOf(error)['message'] ?? error ?? message
  const words = typeof said === 'string' ? said : body
  const hidden = key === null || key === '' ? words : words.replaceAll(key, '[key]')
  return hidden.replace(SECRET, '[key]').replace(/\s+/g, ' ').trim().slice(0, MAX_WORDS)
}

/** How the keys of vendors begin, also where the vendor masks the rest. */
const SECRET = /\b(?:sk|pk|gsk|xai|AIza|Bearer\s)[-_A-Za-z0-9*.]{5,}[-_A-Za-z0-9*]/g
