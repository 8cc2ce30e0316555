import { member, parsedJsonBytes } from '../../../core/json'
import type { OutboundAnswer } from '../../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../../core/providers/provider'
import { retryAfterSeconds } from '../../../core/retry-after'

/** Brave's errors about our own key, plan or bill; callers must never mistake them for theirs. */
const ABOUT_US = new Set([
  'SUBSCRIPTION_TOKEN_INVALID',
  'SUBSCRIPTION_NOT_FOUND',
  'OPTION_NOT_IN_PLAN',
  'RESOURCE_NOT_ALLOWED',
  'CREDIT_EXHAUSTED',
  'USAGE_LIMIT_EXCEEDED',
])
const MAX_PASSED_ON = 64 * 1024

interface BraveError {
  readonly code: string
  /** The parameter of a `VALIDATION` error, such as `query.goggles`. */
  readonly places: readonly string[]
}

/** Classifies an unsuccessful response. Problems with our Brave account become `unavailable`; errors about the request pass through. */
export function braveFailure(answer: OutboundAnswer, apiKey: string): UpstreamFailure {
  const { status, headers } = answer
  const text = new TextDecoder().decode(answer.body)
  const { code, places } = braveError(parsedJsonBytes(answer.body))
  const reason = `brave: ${status}${code && ` ${code}`}${places.length > 0 ? ` at ${places.join(' ')}` : ''}`
  if (status === 429) return { kind: 'rate_limited', reason, retryAfterSeconds: retryAfter(headers) }
  if (status === 401 || status === 402 || status === 403 || ABOUT_US.has(code)) return { kind: 'unavailable', reason }
  if (status === 503) return { kind: 'unavailable', reason, ...waiting(headers) }
  if (status === 504) return { kind: 'timeout', reason }
  const isAboutCaller = (status === 400 || status === 422) && !places.some(isOurs) && !text.includes(apiKey)
  if (!isAboutCaller || code === '' || text.length > MAX_PASSED_ON) return { kind: 'error', reason }
  return { kind: 'error', reason, passThrough: { status, contentType: 'application/json', body: text } }
}

/**
 * Parameters for which the gateway allows more than an older version of Brave (`q` of LLM context), or which it adds itself, so that
 * the error is not the caller's.
 */
function isOurs(place: string): boolean {
  return /(^|\.)(q|query|x-subscription-token|api-version)$/i.test(place)
}

/** Real bodies have an `error`; the examples in the reference have `errors`. */
function braveError(body: unknown): BraveError {
  const error = member(body, 'error') ?? first(member(body, 'errors'))
  const code = member(error, 'code')
  const details = member(member(error, 'meta'), 'errors')
  const places = (Array.isArray(details) ? details : []).flatMap((detail: unknown) => {
    const place = member(detail, 'loc')
    return Array.isArray(place) ? [place.join('.').slice(0, 60)] : []
  })
  return { code: typeof code === 'string' ? code.slice(0, 60) : '', places: places.slice(0, 5) }
}

/** Seconds until a window has room again: the earliest reset of the exhausted windows. */
function retryAfter(headers: Headers): number {
  const list = (name: string) =>
    (headers.get(name) ?? '').split(',').map((part) => (part.trim() === '' ? Number.NaN : Number(part)))
  const limits = list('x-ratelimit-limit')
  const left = list('x-ratelimit-remaining')
  const waits = list('x-ratelimit-reset').filter((_, i) => left[i] === 0 && (limits[i] ?? 0) > 0)
  const headerSeconds = retryAfterSeconds(headers.get('retry-after')) ?? Number.NaN
  const usable = (waits.length > 0 ? waits : [headerSeconds]).filter((seconds) => Number.isFinite(seconds))
  return usable.length === 0 ? 1 : Math.max(1, Math.ceil(Math.min(...usable)))
}

function waiting(headers: Headers): { retryAfterSeconds?: number } {
  const seconds = retryAfterSeconds(headers.get('retry-after'))
  return seconds !== null && seconds > 0 ? { retryAfterSeconds: Math.ceil(seconds) } : {}
}

function first(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined
}
