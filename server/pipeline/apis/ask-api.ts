import type { ApiOperation } from '../../core/apis/api'
import type { SoldOperation } from '../../core/apis/api-routes'
import { returnedNames } from '../../core/apis/upstream-headers'
import type {
  OutboundAnswer,
  OutboundFetch,
  OutboundProblem,
  OutboundRequest,
  OutboundStream,
  OutboundStreamFetch,
} from '../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import { retryAfterSeconds } from '../../core/retry-after'
import { isSourceFault } from '../../core/telemetry/upstream-health'
import { containsSecret, mayContainSecret } from './secret-guard'
import type { UpstreamRequest } from './upstream-request'

/** The largest answer of an upstream, after decoding. */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024
/** The largest error of an upstream that is passed on. */
const MAX_ERROR_BYTES = 64 * 1024

/** An answer with a status that may be a success, with the headers that a caller gets. */
export interface ApiAnswer {
  readonly answer: OutboundAnswer
  readonly headers: Readonly<Record<string, string>>
}

/** Why there is no answer to serve, with what to tell the caller. `status`: the upstream's, if it answered. */
export type AskProblem = UpstreamFailure & { readonly didNothing: boolean; readonly status?: number }

export type ApiResult = Result<ApiAnswer, AskProblem>

/** A 2xx answer whose headers have arrived, with those that a caller gets. */
export interface ApiStream extends Omit<OutboundStream, 'url' | 'headers'>, Pick<ApiAnswer, 'headers'> {
  /** Texts that it must never contain. */
  readonly secrets: readonly string[]
}

/** When a request must have its answer, or the headers of its stream. */
export interface AnswerDeadline {
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/**
 * Sends one request and validates the answer: size, content type, and that it contains no secret of ours. It does not decide whether it is a
 * success. Never throws for errors of the upstream.
 */
export function askApi(
  fetch: OutboundFetch,
  sold: SoldOperation,
  request: UpstreamRequest,
  limits: AnswerDeadline,
): Promise<ApiResult> {
  return fetch(outbound(request, limits)).then((fetched) =>
    fetched.ok ? validateAnswer(sold, fetched.value, request.secrets) : err(unfetched(fetched.error)),
  )
}

export function validateAnswer(
  { operation }: Pick<SoldOperation, 'operation'>,
  answer: OutboundAnswer,
  secrets: readonly string[],
): ApiResult {
  if (leaks(answer, secrets)) return err(LEAK)
  if (!isSold(answer.status, operation)) return err(notOk(answer, operation.refusedStatuses))
  if (answer.body.byteLength > 0 && !isServable(answer.contentType)) return err(unservable(answer.contentType))
  if (isBrokenJson(answer, operation.effect)) return err(BROKEN_JSON)
  return ok({ answer, headers: headersDown(answer, operation.headersDown) })
}

/** The same for an answer that is passed on as it comes: everything is validated but its body. */
export async function openApi(
  fetch: OutboundStreamFetch,
  { operation }: SoldOperation,
  request: UpstreamRequest,
  limits: AnswerDeadline,
): Promise<Result<ApiStream, AskProblem>> {
  const opened = await fetch(outbound(request, limits))
  if (!opened.ok) return err(unfetched(opened.error))
  if (opened.value.kind === 'whole') {
    const { answer } = opened.value
    return err(leaks(answer, request.secrets) ? LEAK : notOk(answer, operation.refusedStatuses))
  }
  const { stream } = opened.value
  const { contentType, cancel } = stream
  const isLeak = leaks({ headers: stream.headers, body: new Uint8Array() }, request.secrets)
  if (!isLeak && isServable(contentType))
    return ok({ ...stream, headers: headersDown(stream, operation.headersDown), secrets: request.secrets })
  cancel()
  return err(isLeak ? LEAK : unservable(contentType))
}

export function outbound(request: UpstreamRequest, { timeoutMs, signal }: AnswerDeadline): OutboundRequest {
  return { ...request, timeoutMs, signal, maxBytes: MAX_ANSWER_BYTES }
}

const LEAK: AskProblem = { kind: 'error', reason: 'the answer contained our own secret', didNothing: false }

const BROKEN_JSON: AskProblem = {
  kind: 'error',
  reason: 'the JSON is missing, cut, or something else',
  didNothing: false,
}

const JSON_TYPE = /^application\/([\w.+-]+\+)?json$/
/** How JSON values begin, and how each of these ends; others are numbers and words. */
const JSON_ENDS: Readonly<Record<number, number>> = { 123: 0x7d, 91: 0x5d, 34: 0x22 }

/** Whether a body is not the JSON that its type promises, judged by its first and last byte only. A write may answer with nothing. */
function isBrokenJson({ status, contentType, body }: OutboundAnswer, effect: ApiOperation['effect']): boolean {
  if (!JSON_TYPE.test(contentType)) return false
  const hasMark = body[0] === 0xef && body[1] === 0xbb && body[2] === 0xbf
  let from = hasMark ? 3 : 0
  let to = body.length - 1
  while (from <= to && (body[from] ?? 0) <= 0x20) from++
  while (to >= from && (body[to] ?? 0) <= 0x20) to--
  const first = body[from]
  if (from > to || first === undefined) return effect === 'read' && status === 200
  const end = JSON_ENDS[first]
  return end === undefined ? !/[-\dtfn]/.test(String.fromCharCode(first)) : to === from || body[to] !== end
}

function unservable(contentType: string): AskProblem {
  return { kind: 'error', reason: `content type ${contentType.slice(0, 60)}`, didNothing: false }
}

/** Types that are served: data, text, media and documents. Nothing is ever rendered, see `headersDown`. */
function isServable(type: string): boolean {
  return (
    type === '' ||
    /^(text|image|audio|video|font|model)\//.test(type) ||
    /^application\/([\w.+-]*(json|xml|csv|yaml|pdf|zip|gzip|octet-stream|ndjson|protobuf|cbor|msgpack|javascript|text|parquet|geo|gpx|kml|rtf|vnd\.[\w.+-]+))$/.test(
      type,
    )
  )
}

/** Types that a browser would run or render. They come as attachments. */
const ACTIVE = /html|xml|svg|javascript|ecmascript|pdf/

function headersDown(
  { headers, contentType }: Pick<OutboundAnswer, 'headers' | 'contentType'>,
  declared: readonly string[],
): Record<string, string> {
  const down: Record<string, string> = { 'content-type': 'application/octet-stream' }
  for (const name of namesDown(declared)) {
    const value = headers.get(name)
    if (value !== null) down[name] = value
  }
  if (ACTIVE.test(contentType)) down['content-disposition'] = 'attachment'
  down['x-content-type-options'] = 'nosniff'
  down['content-security-policy'] = 'sandbox'
  return down
}

const NAMES_DOWN = new WeakMap<readonly string[], readonly string[]>()

/** Found once per operation, which is immutable. */
function namesDown(declared: readonly string[]): readonly string[] {
  const known = NAMES_DOWN.get(declared) ?? returnedNames(declared)
  NAMES_DOWN.set(declared, known)
  return known
}

export function isCacheable({ status, headers }: OutboundAnswer): boolean {
  if (!is2xx(status) || headers.has('set-cookie') || headers.get('vary')?.includes('*')) return false
  return !/no-store|private/i.test(headers.get('cache-control') ?? '')
}

/** The failure for the caller where no answer came. */
export function unfetched({ kind, reason }: OutboundProblem): AskProblem {
  switch (kind) {
    case 'bad_url':
    case 'not_allowed':
      return { kind: 'unavailable', reason, didNothing: true }
    case 'forbidden_address':
      return {
        kind: 'unavailable',
        reason: `${reason} (ALLOW_PRIVATE_UPSTREAMS allows addresses of your own network)`,
        didNothing: true,
      }
    case 'unreachable':
      // A connection may break after the request went out.
      return { kind: 'unavailable', reason, didNothing: false }
    case 'timeout':
    case 'aborted':
      return { kind: 'timeout', reason, didNothing: false }
    default:
      return { kind: 'error', reason, didNothing: false }
  }
}

/** Statuses about the caller's request. Statuses about our credential or our limits there are never passed on. */
const ABOUT_REQUEST = new Set([400, 404, 405, 406, 409, 410, 411, 412, 413, 414, 415, 416, 422])

function is2xx(status: number): boolean {
  return status >= 200 && status <= 299
}

/** Whether an answer with this status may be sold: a 2xx, or what the operator counts as a success although it speaks of the request. */
function isSold(status: number, { success, refusedStatuses }: SoldOperation['operation']): boolean {
  if (is2xx(status)) return true
  const isCounted = status >= success.minStatus && status <= success.maxStatus
  return isCounted && ABOUT_REQUEST.has(status) && !refusedStatuses.includes(status)
}

export function isApiFault(problem: AskProblem): boolean {
  return isSourceFault(problem) && !(problem.status !== undefined && ABOUT_REQUEST.has(problem.status))
}

function notOk(answer: OutboundAnswer, refused: readonly number[]): AskProblem {
  const { status, headers, contentType, body } = answer
  const reason = `status ${status}`
  const didNothing = refused.includes(status)
  if (status === 429) {
    const wait = Math.min(3600, Math.max(1, Math.ceil(retryAfterSeconds(headers.get('retry-after')) ?? 1)))
    return { kind: 'rate_limited', reason, retryAfterSeconds: wait, didNothing: true, status }
  }
  const isPlain = /^(application\/([\w.+-]+\+)?json|text\/plain)$/.test(contentType)
  const passed = ABOUT_REQUEST.has(status) && isPlain && body.byteLength <= MAX_ERROR_BYTES
  const passThrough = { status, contentType, body: passed ? new TextDecoder().decode(body) : '' }
  if (passed) return { kind: 'error', reason, passThrough, didNothing, status }
  return { kind: status >= 500 || status < 400 ? 'error' : 'unavailable', reason, didNothing, status }
}

/** Whether an answer contains a secret, in its body or in a header, plain or encoded. */
function leaks({ body, headers }: Pick<OutboundAnswer, 'body' | 'headers'>, secrets: readonly string[]): boolean {
  if (secrets.length === 0) return false
  if (containsSecret(body, secrets)) return true
  let values = ''
  headers.forEach((value) => {
    if (mayContainSecret(value, secrets)) values += `${value}\n`
  })
  return values !== '' && containsSecret(ENCODER.encode(values), secrets)
}

const ENCODER = new TextEncoder()

/** The overhead of an entry of `headers`, as measured. */
const HEADER_BYTES = 150

/** The bytes of memory that an answer takes: all of its headers, also those that are not passed down. */
export function memoryOf({ body, headers }: OutboundAnswer): number {
  let bytes = body.buffer.byteLength
  for (const [name, value] of headers) bytes += HEADER_BYTES + 2 * (name.length + value.length)
  return bytes
}
