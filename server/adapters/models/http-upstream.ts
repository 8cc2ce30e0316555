import type { ModelRoute, ModelUpstream } from '../../core/models/model'
import type { BackendCall } from '../../pipeline/models/model-backend'
import { StreamGuard, streamBounds } from '../../pipeline/models/wires/stream-bounds'
import { ANTHROPIC } from './anthropic'
import type { Attempt } from './attempt'
import { GEMINI } from './gemini'
import { OPENAI } from './openai'
import { codeOf, ENCODED, type Vendor, type VendorRefusal, vendorRefusal, WRONG_BODY, wordsOf } from './vendor'

export const VENDORS: Readonly<Record<Exclude<ModelUpstream['kind'], 'sandbox'>, Vendor>> = {
  openai: OPENAI,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
}
const MAX_ERROR_BYTES = 64 * 1024

/** What is the same for all calls of one route at an upstream. */
interface Endpoint {
  readonly url: string
  readonly key: string | null
  readonly headers: Readonly<Record<string, string>>
}

const ENDPOINTS = new WeakMap<ModelUpstream, Map<ModelRoute, Endpoint[]>>()

function endpointOf(vendor: Vendor, upstream: ModelUpstream, key: string | null, call: BackendCall): Endpoint {
  const { stream, events } = call.path
  const routes = ENDPOINTS.get(upstream) ?? new Map<ModelRoute, Endpoint[]>()
  const endpoints = routes.get(call.wire.route) ?? []
  const index = (stream ? 2 : 0) + (events ? 1 : 0)
  const known = endpoints[index]
  if (known?.key === key) return known
  const headers = {
    'content-type': 'application/json',
    // Uncompressed, so that the meter can read the bytes and no chunk is delayed by compression.
    'accept-encoding': 'identity',
    ...vendor.headers(key),
  }
  const endpoint = { url: vendor.url(upstream, call), key, headers }
  endpoints[index] = endpoint
  ENDPOINTS.set(upstream, routes.set(call.wire.route, endpoints))
  return endpoint
}

/** Sends the call of an attempt, and waits for the headers of an answer. Null, or why there is none. */
export async function openHttp(attempt: Attempt, key: string | null): Promise<VendorRefusal | null> {
  const { call, signal } = attempt
  const { upstream, breaker } = attempt.place
  if (upstream.kind === 'sandbox') throw new Error('a sandbox model cannot be called over HTTP')
  const vendor = VENDORS[upstream.kind]
  if (!breaker.isKnown && !(await isReachable(upstream, signal)))
    return unreachable(`no connection within ${upstream.connectMs} ms`)
  attempt.startTimer()
  try {
    const { url, headers } = endpointOf(vendor, upstream, key, call)
    const own = vendor.callHeaders?.(call) ?? null
    const { traceparent } = call
    const response = await fetch(url, {
      method: 'POST',
      headers: own === null && traceparent === null ? headers : { ...headers, ...own, ...traced(traceparent) },
      body: attempt.wire.bodyFor(call.request, upstream, call.cap),
      redirect: 'manual',
      signal,
      // We set the idle timeout ourselves, instead of the client's five minutes.
      timeout: false,
      // Bun would unpack any number of bytes before ours are counted.
      decompress: false,
    } as RequestInit)
    const isEncoded = (response.headers.get('content-encoding') ?? 'identity').trim().toLowerCase() !== 'identity'
    if (response.status !== 200) {
      const body = isEncoded ? '{}' : await firstBytes(response)
      const { status } = response
      const refusal = vendorRefusal(vendor, status, response.headers, body)
      return refusal.failure.passThrough ? refusal : { ...refusal, said: { status, words: wordsOf(body, key) } }
    }
    if (isEncoded) return ENCODED
    const contentType = response.headers.get('content-type') ?? 'application/json'
    if (!call.request.stream) attempt.answered(contentType, response)
    else if (!(await answeredByStream(attempt, response, contentType))) return WRONG_BODY
    return null
  } catch (error) {
    if (attempt.isLate) return trouble('timeout', `no response within ${upstream.firstByteMs} ms`)
    if (signal.aborted) return trouble('timeout', 'told to stop')
    const code = codeOf(error)
    return code === 'ConnectionRefused' ? unreachable(code) : trouble('unavailable', code)
  }
}

function traced(traceparent: string | null): Readonly<Record<string, string>> | null {
  return traceparent === null ? null : { traceparent }
}

/** False if the answer is no stream. */
async function answeredByStream(attempt: Attempt, response: Response, contentType: string): Promise<boolean> {
  const { call, place } = attempt
  const body = response.body && (await streamBody(response.body, call, contentType))
  if (!body) return false
  attempt.guard = guardOf(call, place.upstream)
  attempt.answered(call.path.stream && !call.path.events ? contentType : EVENT_STREAM, response, body)
  return true
}

const EVENT_STREAM = 'text/event-stream'

/** A stream from its beginning on; null if it is a whole body instead: an error in JSON, or a page of a proxy. */
async function streamBody(
  body: ReadableStream<Uint8Array>,
  { path }: BackendCall,
  contentType: string,
): Promise<ReadableStream<Uint8Array> | null> {
  const isList = path.stream && !path.events
  // Some servers call their events JSON or HTML. Only then is their beginning read before the caller gets an answer.
  if (!/json|html|xml/i.test(contentType) || (isList && /json/i.test(contentType))) return body
  const reader = body.getReader()
  for (let spaces = 0; ; ) {
    const { done, value } = await reader.read()
    const first = value?.find((byte) => byte > 0x20)
    spaces += value?.length ?? 0
    if (!done && first === undefined && spaces < MAX_ERROR_BYTES) continue
    if (value && first !== undefined && !WHOLE_BODIES.includes(first)) return resumed(reader, value)
    await reader.cancel()
    return null
  }
}

/** How JSON and HTML begin: `{`, `[`, `<`. */
const WHOLE_BODIES: readonly number[] = [0x7b, 0x5b, 0x3c]

/** The stream whose beginning was read already. */
function resumed(reader: ReadableStreamDefaultReader<Uint8Array>, begin: Uint8Array): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      start: (controller) => controller.enqueue(begin),
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  )
}

/** A stream may not exceed its output cap, nor stay silent longer than a first byte may take. */
function guardOf({ request, cap }: BackendCall, { firstByteMs }: ModelUpstream): StreamGuard {
  return new StreamGuard(streamBounds((request.cap ?? cap) * request.choices, firstByteMs), STOPWATCH)
}

const STOPWATCH = () => performance.now()

/** Whether the server accepts a connection, so that only reachable servers get the long wait for a response. */
async function isReachable({ baseUrl, connectMs }: ModelUpstream, signal: AbortSignal): Promise<boolean> {
  const { hostname, port, protocol } = new URL(baseUrl)
  const ended = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => ended.resolve(false), connectMs)
  const hangUp = () => ended.resolve(false)
  signal.addEventListener('abort', hangUp, { once: true })
  const connecting = Bun.connect({
    hostname: hostname.replace(/^\[|\]$/g, ''),
    port: port === '' ? (protocol === 'https:' ? 443 : 80) : Number(port),
    socket: { data() {}, open: (socket) => void socket.end() },
  })
  connecting.then(
    () => ended.resolve(true),
    () => ended.resolve(false),
  )
  const reached = await ended.promise
  clearTimeout(timer)
  signal.removeEventListener('abort', hangUp)
  return reached
}

function trouble(kind: 'unavailable' | 'timeout', reason: string): VendorRefusal {
  return { failure: { kind, reason }, goOn: true, isFault: true, retryAfter: kind === 'unavailable' ? 0.25 : null }
}

function unreachable(reason: string): VendorRefusal {
  return { ...trouble('unavailable', reason), isUnreachable: true }
}

async function firstBytes(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    length += chunk.byteLength
    if (length > MAX_ERROR_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8', 0, MAX_ERROR_BYTES)
}
