import type { ModelUpstream } from '../../core/models/model'
import { declaredLength } from '../../core/outbound/outbound-fetch'
import { err, ok, type Result } from '../../core/result'
import type { BackendCall } from '../../pipeline/models/model-backend'
import { wireAt } from '../../pipeline/models/wires/model-wire'
import { StreamGuard, streamBounds } from '../../pipeline/models/wires/stream-bounds'
import { ANTHROPIC } from './anthropic'
import { GEMINI } from './gemini'
import { OPENAI } from './openai'
import { type Vendor, type VendorRefusal, vendorRefusal, WRONG_BODY } from './vendor'

const VENDORS: Readonly<Record<Exclude<ModelUpstream['kind'], 'sandbox'>, Vendor>> = {
  openai: OPENAI,
  anthropic: ANTHROPIC,
  gemini: GEMINI,
}
const MAX_ERROR_BYTES = 64 * 1024

/** A 200 whose body has not been read. */
export interface OpenedUpstream {
  readonly contentType: string
  readonly body: ReadableStream<Uint8Array>
  /** See `BackendAnswer`. */
  readonly check?: (chunk: Uint8Array) => void
  /** The bytes of a whole answer's body; null if that is not known. */
  readonly length: number | null
}

/** Calls one upstream over HTTP, up to the response headers. Aborting `abort` ends the call at any time. */
export async function openHttp(
  upstream: ModelUpstream,
  key: string | null,
  call: BackendCall,
  abort: AbortController,
  /** Whether it responded recently: then the connection check is skipped. */
  isKnown: boolean,
): Promise<Result<OpenedUpstream, VendorRefusal>> {
  if (upstream.kind === 'sandbox') throw new Error('a sandbox model cannot be called over HTTP')
  const vendor = VENDORS[upstream.kind]
  const reached = isKnown || (await isReachable(upstream, abort.signal))
  if (!reached) return err(unreachable(`no connection within ${upstream.connectMs} ms`))
  let late = false
  const timer = setTimeout(() => {
    late = true
    abort.abort()
  }, upstream.firstByteMs)
  try {
    const response = await fetch(vendor.url(upstream, call), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        // Uncompressed, so that the meter can read the bytes and no chunk is delayed by compression.
        'accept-encoding': 'identity',
        ...(call.traceparent !== null && { traceparent: call.traceparent }),
        ...vendor.headers(key, call),
      },
      body: wireAt(upstream, call.wire).bodyFor(call.request, upstream, call.cap),
      redirect: 'manual',
      signal: abort.signal,
      // We set the idle timeout ourselves, instead of the client's five minutes.
      timeout: false,
    } as RequestInit)
    if (response.status !== 200 || !response.body)
      return err(vendorRefusal(vendor, response.status, response.headers, await firstBytes(response)))
    const contentType = response.headers.get('content-type') ?? 'application/json'
    // An encoded body may be any number of times as long as its length.
    const length = response.headers.has('content-encoding') ? null : declaredLength(response.headers)
    if (!call.request.stream) return ok({ contentType, body: response.body, length })
    const body = await streamBody(response.body, call, contentType)
    if (body === null) return err(WRONG_BODY)
    return ok({
      contentType: call.path.stream && !call.path.events ? contentType : EVENT_STREAM,
      body,
      check: boundsCheck(call, upstream),
      length: null,
    })
  } catch (error) {
    if (late) return err(trouble('timeout', `no response within ${upstream.firstByteMs} ms`))
    if (abort.signal.aborted) return err(trouble('timeout', 'told to stop'))
    const code = codeOf(error)
    return err(code === 'ConnectionRefused' ? unreachable(code) : trouble('unavailable', code))
  } finally {
    clearTimeout(timer)
  }
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
function boundsCheck({ request, cap }: BackendCall, { firstByteMs }: ModelUpstream): (chunk: Uint8Array) => void {
  const bounds = streamBounds((request.cap ?? cap) * request.choices, firstByteMs)
  const guard = new StreamGuard(bounds, () => performance.now())
  return (chunk) => {
    const problem = guard.problemWith(chunk)
    if (problem !== null) throw new StreamOutOfBounds(problem)
  }
}

class StreamOutOfBounds extends Error {
  override readonly name = 'StreamOutOfBounds'
}

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

/** The error's code only: its message may contain the URL. */
function codeOf(error: unknown): string {
  const code: unknown = Object(error).code
  return typeof code === 'string' ? code : error instanceof Error ? error.name : 'unknown'
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
