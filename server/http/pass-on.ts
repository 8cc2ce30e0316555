import { type Failure, failure, uncharged } from '../core/failure'
import { ADDED_BY_BUN, PASSED_ON_HEADER, passedOnValue, refusal } from './middleware/caller/passed-on'
import { type BunServer, pathOf } from './middleware/request-context'

/** Beyond these numbers a request is refused: a primary that is slow for some must not be given all. Streams of events stay open for long. */
const MAX_REQUESTS = 256
const MAX_EVENT_STREAMS = 1_024

/** Of one connection, and so not passed on (RFC 9110 7.6.1); those that `Connection` names neither. Bun answers `Expect` itself. */
const HOP_BY_HOP = [
  ...['connection', 'expect', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
]
/** For a caller that sent no Host: one that is on no machine. */
const NO_HOST = 'no-host.invalid'

interface Target {
  readonly origin: string
  readonly token: string
}

interface PassOnParts {
  /** Where the primary takes requests, and the token that it believes; null if there is no primary, and none comes in time. */
  readonly target: () => Target | null | Promise<Target | null>
  /** Certificates to trust in place of the system's. */
  readonly ca: string | null
  readonly now: () => number
  /** For tests. */
  readonly most?: { readonly requests: number; readonly eventStreams: number }
}

/** Passes whole requests on from a worker to its primary, whose answers come back as they are. */
export class PassOn {
  private readonly parts: PassOnParts
  private readonly requests: Pool
  private readonly eventStreams: Pool

  constructor(parts: PassOnParts) {
    const { requests, eventStreams } = parts.most ?? { requests: MAX_REQUESTS, eventStreams: MAX_EVENT_STREAMS }
    this.parts = parts
    this.requests = { most: requests, taken: 0 }
    this.eventStreams = { most: eventStreams, taken: 0 }
  }

  /** The primary's answer to a request as Bun received it; 503 if there is none. */
  readonly answer = async (request: Request, server: NonNullable<BunServer>): Promise<Response> => {
    const isForEvents = request.headers.get('accept')?.includes('text/event-stream') ?? false
    const place = new Place()
    if (!place.enter(isForEvents ? this.eventStreams : this.requests)) return this.refusal(request, BUSY)
    // The primary has the deadlines of a call, and times out its connection to this worker.
    server.timeout(request, 0)
    const target = await this.parts.target()
    if (target === null) {
      place.leave()
      return this.refusal(request, AWAY)
    }
    try {
      const passedOn = passedOnValue(target.token, server.requestIP(request)?.address ?? 'unknown')
      const answer = await send(request, { origin: target.origin, ca: this.parts.ca }, passedOn)
      return this.passedBack(answer, place)
    } catch (error) {
      place.leave()
      if (request.signal.aborted) return new Response(null, { status: 499 })
      return this.refusal(request, isRefused(error) ? AWAY : isRead(request) ? BROKEN_READ : BROKEN)
    }
  }

  private passedBack(answer: Response, place: Place): Response {
    const { body, status } = answer
    const headers = endToEnd(answer.headers)
    // The rest of the request is not read, or the primary stops.
    if (answer.headers.get('connection')?.toLowerCase() === 'close') headers.set('connection', 'close')
    if (body === null) {
      place.leave()
      return new Response(null, { status, headers })
    }
    const isEvents = headers.get('content-type')?.startsWith('text/event-stream') ?? false
    // If there is no room it stays: what has begun is not ended.
    if (isEvents) place.enter(this.eventStreams)
    return new Response(untilEnd(body, place), { status, headers })
  }

  private refusal(request: Request, problem: Failure): Response {
    return refusal(request, this.parts.now(), problem, pathOf(`http://caller${targetOf(request.url)}`))
  }
}

const AWAY = uncharged('service_unavailable', 'The gateway is restarting. Try again.', {
  retryAfterSeconds: 1,
  closes: true,
})
const BUSY = uncharged('service_unavailable', 'The gateway has too many requests of this kind. Try again.', {
  retryAfterSeconds: 1,
  closes: true,
})
/** The primary had the request, so this does not say that nothing was charged. */
const BROKEN_READ = failure('service_unavailable', 'The gateway stopped while it handled this request. Try again.', {
  retryAfterSeconds: 1,
})
const BROKEN = failure(
  'outcome_unknown',
  'The gateway stopped while it handled this request, so its outcome is unknown. Check whether it took effect before you send it again.',
  { closes: true },
)

function send(
  request: Request,
  { origin, ca }: { readonly origin: string; readonly ca: string | null },
  passedOn: string,
): Promise<Response> {
  const { method, signal } = request
  const headers = endToEnd(request.headers)
  for (const name of ADDED_BY_BUN) if (!headers.has(name)) headers.set(name, '')
  if (!headers.has('host')) headers.set('host', NO_HOST)
  headers.set(PASSED_ON_HEADER, passedOn)
  // Bun sends none with these, and no route reads one.
  const hasBody = !isRead(request)
  if (!hasBody) headers.delete('content-length')
  return fetch(`${origin}${targetOf(request.url)}`, {
    method,
    headers,
    body: hasBody ? request.body : null,
    signal,
    redirect: 'manual',
    decompress: false,
    timeout: false,
    ...(ca !== null && { tls: { ca } }),
  } as RequestInit)
}

/** Path and query. Without a usable `Host`, Bun's URL has nothing else. */
function targetOf(url: string): string {
  return url.replace(/^https?:\/\/[^/?#]*/, '')
}

function isRead({ method }: Request): boolean {
  return method === 'GET' || method === 'HEAD'
}

function endToEnd(received: Headers): Headers {
  const headers = new Headers(received)
  const named = received.get('connection')?.split(',') ?? []
  for (const name of [...HOP_BY_HOP, ...named]) if (name.trim() !== '') headers.delete(name.trim())
  return headers
}

function isRefused(error: unknown): boolean {
  return Object(error).code === 'ECONNREFUSED'
}

/** The body as it comes and as it is read. Leaves the place at its end, which may be a hang-up of either side. */
function untilEnd(body: ReadableStream<Uint8Array>, place: Place): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) return controller.enqueue(value)
          place.leave()
          controller.close()
        } catch (error) {
          place.leave()
          controller.error(error)
        }
      },
      cancel(reason) {
        place.leave()
        return reader.cancel(reason)
      },
    },
    { highWaterMark: 0 },
  )
}

/** How many may be under way, and are. */
interface Pool {
  readonly most: number
  taken: number
}

/** A request's place in a pool, until it leaves. */
class Place {
  private pool: Pool | null = null

  /** Leaves the pool where it is. False, and it stays, if this one is full. */
  enter(pool: Pool): boolean {
    if (pool.taken >= pool.most) return false
    this.leave()
    pool.taken++
    this.pool = pool
    return true
  }

  leave(): void {
    if (this.pool) this.pool.taken--
    this.pool = null
  }
}
