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
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Whether a connection may be used again, on which Bun sends a request once more if it has died. */
  readonly keepAlive: boolean
  /** The name that the certificate must be for, if the address does not say it, and an additional certificate authority. */
  readonly tls: Bun.TLSOptions | undefined
  readonly request: Pick<OutboundRequest, 'method' | 'body' | 'maxBytes' | 'contentTypes'>
  readonly deadline: Deadline
}

/** Sends one request and reads its whole response (for a redirect, without the body). Does not follow redirects. */
export async function oneHop(hop: Hop): Promise<Result<OutboundAnswer, OutboundProblem>> {
  let response: Response | null = null
  try {
    response = await fetch(hop.connectTo, initOf(hop, 'gzip', undefined))
    return await wholeAnswer(hop, response)
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
      const whole = await wholeAnswer(hop, response)
      return whole.ok ? ok({ kind: 'whole', answer: whole.value }) : whole
    }
    if (encodingOf(response) !== '') {
      await discard(response)
      return err(problemOf(hop, 'bad_encoding', 'encoded a stream'))
    }
  } catch (error) {
    return err(problemOf(hop, response === null ? 'unreachable' : 'cut', codeOf(error)))
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
  const init = {
    method: request.method ?? 'GET',
    headers: { ...headers, 'accept-encoding': encoding },
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

/** Throws if the connection breaks. */
async function wholeAnswer(hop: Hop, response: Response): Promise<Result<OutboundAnswer, OutboundProblem>> {
  const { url, request } = hop
  const { status, headers } = response
  const contentType = mediaType(headers)
  if (isRedirect(response) || request.method === 'HEAD') {
    await discard(response)
    return ok({ url, status, headers, contentType, body: new Uint8Array() })
  }
  const isWrongType = response.ok && request.contentTypes !== undefined && !admits(request.contentTypes, contentType)
  if (isWrongType || Number(headers.get('content-length')) > request.maxBytes) {
    await discard(response)
    return err(isWrongType ? problemOf(hop, 'wrong_type', `sent "${contentType.slice(0, 100)}"`) : tooLarge(hop))
  }
  const length = declaredLength(headers)
  // Reading through a stream costs several times as much.
  const sent = await (length === null ? boundedBytes(response.body, request.maxBytes) : response.bytes())
  if (sent === null) return err(tooLarge(hop))
  if (length !== null && sent.byteLength !== length) return err(problemOf(hop, 'cut', 'too short'))
  const encoding = encodingOf(response)
  if (encoding === '' || sent.byteLength === 0) return ok({ url, status, headers, contentType, body: sent })
  const body = await unpacked(sent, encoding, hop)
  return body.ok ? ok({ url, status, headers, contentType, body: body.value }) : body
}

export function isRedirect({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean {
  return (
    (status === 301 || status === 302 || status === 303 || status === 307 || status === 308) && headers.has('location')
  )
}

/** Only gzip was requested. Decompression runs off this thread and stops at the limit, which defuses zip bombs. */
async function unpacked(
  body: Uint8Array<ArrayBuffer>,
  encoding: string,
  hop: Hop,
): Promise<Result<Uint8Array<ArrayBuffer>, OutboundProblem>> {
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    return err(problemOf(hop, 'bad_encoding', 'sent a content encoding that was not requested'))
  try {
    return ok(new Uint8Array(await unpack(body, { maxOutputLength: hop.request.maxBytes })))
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

async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => undefined) // it may have failed already
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
