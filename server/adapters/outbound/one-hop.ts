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
} from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import { PRODUCT } from '../../core/version'

const unpack = promisify(gunzip)

/** One request on one connection, to the address that its caller chose. */
export interface Hop {
  /** The URL that the caller requested. */
  readonly url: URL
  /** The URL to connect to: the same, or with the checked IP address in place of the host name. */
  readonly connectTo: string
  /** Whether a connection may be used again, on which Bun sends a request once more if it has died. */
  readonly keepAlive: boolean
  readonly method: string
  /** The hop sets its own in it. */
  readonly headers: Headers
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly maxBytes: number
  readonly contentTypes?: readonly string[]
  readonly deadline: Deadline
  /** An additional certificate authority, as PEM. */
  readonly ca?: string
}

/** When a call must end, and whether the caller or the timer ended it. */
export class Deadline {
  readonly signal: AbortSignal
  private readonly caller: AbortSignal | undefined

  /** `limit`: milliseconds, infinite where `caller` ends in time, or a timer of the caller's own, which it may stop. */
  constructor(limit: number | AbortSignal, caller: AbortSignal | undefined) {
    this.caller = caller
    if (limit === Number.POSITIVE_INFINITY && caller) this.signal = caller
    else {
      const timer = typeof limit === 'number' ? AbortSignal.timeout(limit) : limit
      this.signal = caller ? AbortSignal.any([caller, timer]) : timer
    }
  }

  /** The problem behind a throw: the caller's abort and the timer take precedence over any connection error. */
  problem(kind: OutboundProblemKind, reason: string): OutboundProblem {
    if (this.caller?.aborted) return { kind: 'aborted', reason: 'the caller canceled the request' }
    if (this.signal.aborted) return { kind: 'timeout', reason: 'no complete response before the deadline' }
    return { kind, reason }
  }
}

/** Sends one request and reads its whole response (for a redirect, without the body). Does not follow redirects. */
export async function oneHop(hop: Hop): Promise<Result<OutboundAnswer, OutboundProblem>> {
  const response = await send(hop, requestOf(hop, 'gzip'))
  return response.ok ? wholeAnswer(hop, response.value) : response
}

/** The same up to the headers of a 2xx answer. Its body is handed over unread and must not be encoded; other answers are read as a whole. */
export async function openHop(hop: Hop, cancel: () => void): Promise<Result<OutboundOpened, OutboundProblem>> {
  // Bun would end a body that is silent for five minutes. The reader of the stream sets its own limit.
  const sent = await send(hop, { ...requestOf(hop, 'identity'), timeout: false } as RequestInit)
  if (!sent.ok) return sent
  const response = sent.value
  if (!response.ok) {
    const whole = await wholeAnswer(hop, response)
    return whole.ok ? ok({ kind: 'whole', answer: whole.value }) : whole
  }
  const encoding = response.headers.get('content-encoding')?.trim().toLowerCase() ?? ''
  if (encoding !== '' && encoding !== 'identity') {
    await discard(response)
    return err({ kind: 'bad_encoding', reason: `${hop.url.host} encoded a stream` })
  }
  return ok({ kind: 'stream', stream: { ...headOf(hop, response), body: response.body ?? emptyBody(), cancel } })
}

async function send(hop: Hop, request: RequestInit): Promise<Result<Response, OutboundProblem>> {
  try {
    return ok(await fetch(hop.connectTo, request))
  } catch (error) {
    return err(hop.deadline.problem('unreachable', `${hop.url.host}: ${codeOf(error)}`))
  }
}

function headOf({ url }: Hop, { status, headers }: Response): Omit<OutboundAnswer, 'body'> {
  const contentType = (headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  return { url: withoutFragment(url), status, headers, contentType }
}

async function wholeAnswer(hop: Hop, response: Response): Promise<Result<OutboundAnswer, OutboundProblem>> {
  const { url } = hop
  const answer = headOf(hop, response)
  const { contentType } = answer
  if (isRedirect(response) || hop.method === 'HEAD') {
    await discard(response)
    return ok({ ...answer, body: new Uint8Array() })
  }
  if (response.ok && hop.contentTypes && !admits(hop.contentTypes, contentType)) {
    await discard(response)
    return err({ kind: 'wrong_type', reason: `${url.host} sent "${contentType.slice(0, 100)}"` })
  }
  const packed = await read(response, hop)
  if (!packed.ok) return packed
  const encoding = (response.headers.get('content-encoding') ?? '').trim().toLowerCase()
  if (encoding === '' || encoding === 'identity' || packed.value.byteLength === 0)
    return ok({ ...answer, body: packed.value })
  const body = await unpacked(packed.value, encoding, hop)
  return body.ok ? ok({ ...answer, body: body.value }) : body
}

export function isRedirect({ status, headers }: Pick<Response, 'status' | 'headers'>): boolean {
  return [301, 302, 303, 307, 308].includes(status) && headers.has('location')
}

/** Bun's own options: a TLS name separate from the address, undecoded bytes, and no connection sharing between names. */
function requestOf(hop: Hop, encoding: 'gzip' | 'identity'): BunFetchRequestInit {
  const { headers, url, body, ca } = hop
  headers.set('host', url.host)
  headers.set('accept-encoding', encoding)
  const name = url.hostname.replace(/\.$/, '')
  const isName = !name.startsWith('[') && !/^[\d.]+$/.test(name)
  return {
    method: hop.method,
    headers,
    redirect: 'manual',
    decompress: false,
    keepalive: hop.keepAlive,
    signal: hop.deadline.signal,
    ...(body !== undefined && { body }),
    // Bun shares an open connection only between requests of the same TLS settings, also where there is no TLS.
    ...((isName || ca) && { tls: { ...(isName && { serverName: name }), ...(ca && { ca }) } }),
  }
}

/** The body as it was sent, up to the limit; the rest is not read. */
async function read(response: Response, hop: Hop): Promise<Result<Uint8Array<ArrayBuffer>, OutboundProblem>> {
  const { deadline, maxBytes, url } = hop
  const tooLarge = err({ kind: 'too_large' as const, reason: `${url.host} sent more than ${maxBytes} bytes` })
  const { headers } = response
  if (Number(headers.get('content-length')) > maxBytes) {
    await discard(response)
    return tooLarge
  }
  const length = declaredLength(headers)
  try {
    // Reading through a stream costs several times as much.
    if (length !== null) {
      const bytes = await response.bytes()
      return bytes.byteLength === length ? ok(bytes) : err(deadline.problem('cut', `${url.host}: too short`))
    }
    const bytes = await boundedBytes(response.body, maxBytes)
    return bytes ? ok(new Uint8Array(bytes)) : tooLarge
  } catch (error) {
    return err(deadline.problem('cut', `${url.host}: ${codeOf(error)}`))
  }
}

/** Only gzip was requested. Decompression runs off this thread and stops at the limit, which defuses zip bombs. */
async function unpacked(
  body: Uint8Array<ArrayBuffer>,
  encoding: string,
  { maxBytes, url, deadline }: Hop,
): Promise<Result<Uint8Array<ArrayBuffer>, OutboundProblem>> {
  if (encoding !== 'gzip' && encoding !== 'x-gzip')
    return err({ kind: 'bad_encoding', reason: `${url.host} sent a content encoding that was not requested` })
  try {
    return ok(new Uint8Array(await unpack(body, { maxOutputLength: maxBytes })))
  } catch (error) {
    const large = codeOf(error) === 'ERR_BUFFER_TOO_LARGE'
    return err(deadline.problem(large ? 'too_large' : 'bad_encoding', `${url.host}: ${codeOf(error)}`))
  }
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

function withoutFragment({ href }: URL): string {
  const end = href.indexOf('#')
  return end < 0 ? href : href.slice(0, end)
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
export const trustedFetch: OutboundFetch = async (request) => {
  const url = URL.parse(request.url)
  if (!url || (url.protocol !== 'http:' && url.protocol !== 'https:'))
    return err({ kind: 'bad_url', reason: 'not an http or https URL' })
  const headers = new Headers(request.headers)
  if (!headers.has('user-agent')) headers.set('user-agent', PRODUCT)
  const method = request.method ?? 'GET'
  return oneHop({
    url,
    connectTo: url.href,
    keepAlive: method === 'GET' || method === 'HEAD',
    method,
    headers,
    ...(request.body !== undefined && { body: request.body }),
    maxBytes: request.maxBytes,
    ...(request.contentTypes && { contentTypes: request.contentTypes }),
    deadline: new Deadline(request.timeoutMs, request.signal),
  })
}
