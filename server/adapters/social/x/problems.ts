import { retryAfterSeconds } from '../../../core/retry-after'
import type { NetworkFailure } from '../../../core/social/network'
import type { WireResponse } from './wire'

type JsonObject = Readonly<Record<string, unknown>>

/**
 * Problems with our application: its enrollment, its authentication, its credits. Compared by the part after
 * `/problems/`, because the host before it has changed over the years.
 * https://docs.x.com/x-api/fundamentals/response-codes-and-errors
 */
const ABOUT_US = new Set([
  'client-forbidden',
  'client-not-enrolled',
  'official-client-forbidden',
  'unsupported-authentication',
  'oauth1-permissions',
  'usage-capped',
  'credits',
  'credits-depleted',
])

/** The wait when a 429 does not say when its window ends. */
const DEFAULT_WAIT_SECONDS = 60
const MAX_WAIT_SECONDS = 24 * 60 * 60

export function jsonObject(text: string): JsonObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : null
  } catch {
    return null
  }
}

/** Classifies an unsuccessful response. `isWrite`: an unclear response may hide a success. */
export function networkFailure(answer: WireResponse, isWrite: boolean, nowMs: number): NetworkFailure {
  const { status } = answer
  const body = jsonObject(answer.text)
  const reason = describe(status, body)
  if (status >= 500 || status < 200) return { kind: isWrite ? 'unknown' : 'unavailable', reason }
  if (status === 401) return { kind: 'token_refused', reason }
  if (status === 402 || status < 400) return { kind: 'about_us', reason }
  if (body !== null && ABOUT_US.has(problemType(body))) return { kind: 'about_us', reason }
  if (status === 429) return { kind: 'rate_limited', reason, retryAfterSeconds: waitSeconds(answer.headers, nowMs) }
  // From a server in front of the network, or for a route that our plan does not include.
  if (body === null) return { kind: 'about_us', reason: `${reason}, not in JSON` }
  if (status === 403 && saysNothing(body)) return { kind: 'about_us', reason }
  return refusedByNetwork(answer, status, reason)
}

/** A 200 that holds only `errors`: the network did nothing. The first error gives the status. */
export function onlyErrors(answer: WireResponse, body: JsonObject): NetworkFailure {
  const [first] = Array.isArray(body['errors']) ? body['errors'] : []
  const problem = typeof first === 'object' && first !== null ? (first as JsonObject) : {}
  const type = problemType(problem)
  const reason = `200 with only errors: ${describe(0, problem)}`
  if (ABOUT_US.has(type)) return { kind: 'about_us', reason }
  const status = type === 'resource-not-found' ? 404 : type === 'not-authorized-for-resource' ? 403 : 400
  return refusedByNetwork(answer, status, reason)
}

/** An error about the caller's own request, passed through unchanged. */
export function refusedByNetwork(answer: WireResponse, status: number, reason: string): NetworkFailure {
  const problem = answer.headers.get('content-type')?.startsWith('application/problem+json')
  const contentType = problem ? 'application/problem+json' : 'application/json'
  return { kind: 'refused', reason, status, contentType, body: answer.text }
}

/**
 * Seconds until the exhausted window ends, at least one. An exhausted window has `remaining: 0`; if none does, the
 * endpoint's own window counts.
 */
function waitSeconds(headers: Headers, nowMs: number): number {
  const windows = ['x-rate-limit', 'x-app-limit-24hour', 'x-user-limit-24hour'].map((name) => ({
    used: headers.get(`${name}-remaining`) === '0',
    reset: Number(headers.get(`${name}-reset`) ?? Number.NaN),
  }))
  const known = windows.filter(({ reset }) => Number.isFinite(reset) && reset > 0)
  const used = known.filter((window) => window.used)
  const reset = used.length > 0 ? Math.max(...used.map((window) => window.reset)) : known[0]?.reset
  if (reset === undefined)
    return Math.ceil(retryAfterSeconds(headers.get('retry-after'), nowMs) ?? 0) || DEFAULT_WAIT_SECONDS
  return Math.min(MAX_WAIT_SECONDS, Math.max(1, Math.ceil(reset - nowMs / 1000)))
}

function problemType(body: JsonObject): string {
  const type = body['type']
  return typeof type === 'string' ? (type.split('/problems/')[1] ?? '') : ''
}

/** A bare `Forbidden` is how the network reports what the application's plan does not allow. */
function saysNothing({ detail, title, errors, message }: JsonObject): boolean {
  const words = [detail, title, message].filter(
    (word) => typeof word === 'string' && word !== '' && word !== 'Forbidden',
  )
  return words.length === 0 && errors === undefined
}

/** For the log: the network's name for a class of problem. Its `detail` is left out, because it may repeat what a caller wrote. */
function describe(status: number, body: JsonObject | null): string {
  const title = typeof body?.['title'] === 'string' ? body['title'].slice(0, 60) : null
  const type = body ? problemType(body) : ''
  return [status || null, title, type || null].filter((part) => part !== null).join(' ')
}
