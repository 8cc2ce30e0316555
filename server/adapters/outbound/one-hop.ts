import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import { boundedBytes } from '../../core/bounded-bytes'
import {
  declaredLength,
  type OutboundAnswer,
  type OutboundFetch,
  type OutboundOpened,
  type OutboundProblem,
  type OutboundProblemKind,
  type OutboundRequest,
} from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import { PRODUCT } from '../../core/version'
import { Deadline } from './deadline'

const unpack = promisify(gunzip)

/** One request on one connection, to the address that its caller chose. */
export interface Hop {
  /** The URL that the caller requested, without a fragment. */
  readonly url: string
  /** The URL to connect to: the same, or with the checked IP address in place of the host name. */
  readonly connectTo: string
  /** Lower-case names. The hop adds its own. */
  readonly headers: Record<string, string>
  /** Whether a connection may be used again, on which Bun sends a request once more if it has died. */
  readonly keepAlive: boolean
  /** The name that the certificate must be for, if the address does not say it, and an additional certificate authority. */
  readonly tls: Bun.TLSOptions | undefined
  readonly request: Pick<OutboundRequest, 'method' | 'body' | 'maxBytes' | 'contentTypes'>
  readonly deadline: Deadline
}

type Answered = Result<OutboundAnswer, OutboundProblem>

/** Sends one request and reads its whole response (for a redirect, without the body). Does not follow redirects. */
export async function oneHop(hop: Hop): Promise<Answered> {
  let response: Response | null = null
  try {
    response = await fetch(hop.connectTo, initOf(hop, 'gzip', undefined))
    return withoutBody(hop, response) ?? wholeAnswer(hop, response, await sentBytes(hop, response))
  } catch (error) {
    return err(problemOf(hop, response === null ? 'unreachable' : 'cut', codeOf(error)))
  }
}

/** The same up to the headers of a 2xx answer. Its body is handed over unread and must not be encoded; other answers are read as a whole. */
export async function openHop(hop: Hop): Promise<Result<OutboundOpened, OutboundProblem>> {
  let response: Response | null = null
  try {
    // Bun would end a body that is silent for five minutes. The reader of the stream sets its own limit.
    response = await fetch(hop.connectTo, initOf(hop, 'identity', false))
    if (!response.ok) {
      const early = withoutBody(hop, response)
      const whole = early ?? (await wholeAnswer(hop, response, await sentBytes(hop, response)))
      return whole.ok ? ok({ kind: 'whole', answer: whole.value }) : whole
    }
  } catch (error) {
    return err(problemOf(hop, response === null ? 'unreachable' : 'cut', codeOf(error)))
  }
  if (encodingOf(response) !== '') {
    discard(response)
    return err(problemOf(hop, 'bad_encoding', 'encoded a stream'))
  }
  const { url, deadline } = hop
  const { status, headers, body } = response
  const cancel = () => deadline.cancel()
  const stream = { url, status, headers, contentType: mediaType(headers), body: body ?? emptyBody(), cancel }
  return ok({ kind: 'stream', stream })
}

/** Bun's own options: a TLS name separate from the address, undecoded bytes, and no connection sharing between names. */
function initOf(hop: Hop, encoding: 'gzip' | 'identity', timeout: false | undefined): BunFetchRequestInit {
  const { headers, keepAlive, tls, request, deadline } = hop
  headers['accept-encoding'] = encoding
  const init = {
    method: request.method ?? 'GET',
    headers,
    redirect: 'manual',
    decompress: false,
    keepalive: keepAlive,
    signal: deadline.signal,
    body: request.body,
    tls,
    timeout,
  }
  return init as BunFetchRequestInit
}

/** The answer if its body is not wanted, or the problem that its head shows. Null: its body has to be read. */
function withoutBody(hop: Hop, response: Response): Answered | null {
  const { url, request } = hop
  const { status, headers } = response
  const contentType = mediaType(headers)
  const isWrongType = response.ok && request.contentTypes !== undefined && !admits(request.contentTypes, contentType)
  const isTooLarge = Number(headers.get('content-length')) > request.maxBytes
  const isHeadOnly = isRedirect(response) || request.method === 'HEAD'
  if (!isHeadOnly && !isWrongType && !isTooLarge) return null
  discard(response)
  if (isHeadOnly) return ok({ url, status, headers, contentType, body: new Uint8Array() })
  return err(isWrongType ? problemOf(hop, 'wrong_type', `sent "${contentType.slice(0, 100)}"`) : tooLarge(hop))
}

/** The body as it was sent; null if it is too large. */
function sentBytes({ request }: Hop, response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  // Reading through a stream costs several times as much.
  if (declaredLength(response.headers) !== null) return response.bytes()
  return boundedBytes(response.body, request.maxBytes)
}

function wholeAnswer(hop: Hop, response: Response, sent: Uint8Array<ArrayBuffer> | null): Answered | Promise<Answered> {
  const { url } = hop
  const { status, headers } = response
  if (sent === null) return err(tooLarge(hop))
  const length = declaredLength(headers)
  if (length !== null && sent.byteLength !== length) return err(problemOf(hop, 'cut', 'too short'))
  const answer = { url, status, headers, contentType: mediaType(headers), body: sent }
  const encoding = encodingOf(response)
  return encoding === '' || sent.byteLength === 0 ? ok(answer) : unpacked(answer, encoding, hop)
}

export function isRedirect({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean {
  return (
    (status === 301 || status === 302 || status === 303 || status === 307 || status === 308) && headers.has('location')
  )
}

/** Only gzip was requested. Decompression runs off this thread and stops at the limit, which defuses zip bombs. */
async function unpacked(answer: OutboundAnswer, encoding: string, hop: Hop): Promise<Answered> {
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    return err(problemOf(hop, 'bad_encoding', 'sent a content encoding that was not requested'))
  try {
    const body = await unpack(answer.body, { maxOutputLength: hop.request.maxBytes })
    return ok({ ...answer, body: new Uint8Array(body) })
  } catch (error) {
    const code = codeOf(error)
    return err(problemOf(hop, code === 'ERR_BUFFER_TOO_LARGE' ? 'too_large' : 'bad_encoding', code))
  }
}

/** The encoding of a body; empty if it is sent as it is. */
function encodingOf({ headers }: Response): string {
  const encoding = headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  return encoding === 'identity' ? '' : encoding
}

function mediaType(headers: Headers): string {
  const text = headers.get('content-type') ?? ''
  const end = text.indexOf(';')
  return (end < 0 ? text : text.slice(0, end)).trim().toLowerCase()
}

function emptyBody(): ReadableStream<Uint8Array> {
  return new ReadableStream({ start: (controller) => controller.close() })
}

function discard(response: Response): void {
  response.body?.cancel().catch(() => undefined) // it may have failed already
}

function admits(allowed: readonly string[], contentType: string): boolean {
  return allowed.some((one) => (one.endsWith('/*') ? contentType.startsWith(one.slice(0, -1)) : contentType === one))
}

function tooLarge(hop: Hop): OutboundProblem {
  return problemOf(hop, 'too_large', `sent more than ${hop.request.maxBytes} bytes`)
}

function problemOf({ url, deadline }: Hop, kind: OutboundProblemKind, reason: string): OutboundProblem {
  return deadline.problem(kind, `${URL.parse(url)?.host ?? 'the host'}: ${reason}`)
}

/** The error's short code. Messages are left out: they repeat the whole URL. */
function codeOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return 'failed'
  const code = Reflect.get(error, 'code')
  return typeof code === 'string' && code !== '' ? code : error instanceof Error ? error.name : 'failed'
}

/**
 * Fetches URLs that the operator configured, which may be private. Bounded like every outbound call; it follows
 * no redirects, because the operator did not configure where they lead.
 */
export const trustedFetch: OutboundFetch = (request) => {
  const { url, method = 'GET', timeoutMs, signal } = request
  if (!/^https?:\/\/[^/?#]/i.test(url))
    return Promise.resolve(err({ kind: 'bad_url', reason: 'not an http or https URL' }))
  const deadline = new Deadline(timeoutMs, signal)
  const headers = { 'user-agent': PRODUCT, ...request.headers }
  const keepAlive = method === 'GET' || method === 'HEAD'
  const answer = oneHop({ url, connectTo: url, headers, keepAlive, tls: undefined, request, deadline })
  return deadline.isCallers ? answer : answer.finally(() => deadline.end())
}
