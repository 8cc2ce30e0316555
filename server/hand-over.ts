import type { Config } from './config'
import type { Listening } from './listen'
import type { Log } from './log'

/** The running gateway's reply to a successor. */
interface Terms {
  readonly notice_seconds: number
  /** How long calls in progress may take to end. */
  readonly drain_seconds: number
}

/** A successor that does not come within this time after the notice is gone. */
const MAX_ABSENCE_MS = 30_000
const ANNOUNCE = '/hand-over/announce'
const LEAVE = '/hand-over/leave'

interface Parts {
  readonly config: Pick<Config, 'takeOver' | 'port' | 'host' | 'drainNoticeSeconds'>
  readonly web: Pick<Listening, 'retireConnections' | 'keepConnections' | 'closePort'>
  readonly stopping: { announce(): void; takeBack(): void }
  readonly drainMs: () => number
  /** Closes the port, and ends the process when its calls have ended. */
  readonly leave: () => void
  /** For tests. */
  readonly maxAbsenceMs?: number
}

/**
 * The running gateway's side of a hand-over, on its control socket. The successor announces itself, waits for the notice, opens the same port,
 * and tells this process to leave. If it does not, calls are served here as before.
 */
export class HandOver {
  private readonly parts: Parts
  private absence: ReturnType<typeof setTimeout> | null = null

  constructor(parts: Parts) {
    this.parts = parts
  }

  /** The response to a message of the hand-over; null for any other request. */
  answer(request: Request): Promise<Response> | null {
    const { pathname } = new URL(request.url)
    if (pathname === ANNOUNCE) return this.announced(request)
    return pathname === LEAVE ? this.leaveRequested() : null
  }

  private async announced(request: Request): Promise<Response> {
    const { config, web, stopping, drainMs, maxAbsenceMs = MAX_ABSENCE_MS } = this.parts
    const { host, port }: { host?: unknown; port?: unknown } = Object(await request.json().catch(() => null))
    const problem = !config.takeOver
      ? 'it was started without TAKE_OVER=true; stop it first'
      : host !== config.host || port !== config.port
        ? `it listens on ${config.host}:${config.port}, and this one would on ${host}:${port}`
        : null
    if (problem !== null) return Response.json({ problem }, { status: 409 })
    stopping.announce()
    web.retireConnections()
    const noticeMs = config.drainNoticeSeconds * 1000
    if (this.absence) clearTimeout(this.absence)
    this.absence = setTimeout(() => {
      stopping.takeBack()
      web.keepConnections()
    }, noticeMs + maxAbsenceMs)
    const terms: Terms = { notice_seconds: noticeMs / 1000, drain_seconds: drainMs() / 1000 }
    return Response.json(terms)
  }

  private async leaveRequested(): Promise<Response> {
    if (this.absence) clearTimeout(this.absence)
    // Right after the event loop accepted all connections that came: those that the kernel still has when the port closes are reset.
    setImmediate(() => {
      this.parts.web.closePort()
      this.parts.leave()
    })
    return Response.json({})
  }
}

interface Successor<T> {
  readonly config: Pick<Config, 'host' | 'port'>
  /** The control socket of the running gateway. */
  readonly socket: string
  /** Opens the port. Requests wait until this process can handle them. */
  readonly openPort: () => void
  /** Takes the data folder; null while the other process holds it. */
  readonly take: () => Promise<T | null>
}

/** The successor's side: resolves when the other gateway has left. Throws, before anything changes, if it refuses. */
export async function takeOver<T>({ config, socket, openPort, take }: Successor<T>): Promise<T> {
  const send = (path: string, body: unknown) =>
    fetch(`http://gateway${path}`, { unix: socket, method: 'POST', body: JSON.stringify(body) })
  const { host, port } = config
  const answer = await send(ANNOUNCE, { host, port })
  if (!answer.ok) {
    const { problem }: { problem?: unknown } = Object(await answer.json().catch(() => null))
    throw new Error(`the running gateway does not hand over: ${problem ?? `it answered ${answer.status}`}`)
  }
  const terms = (await answer.json()) as Terms
  await Bun.sleep(terms.notice_seconds * 1000)
  openPort()
  // A gateway without calls may be gone before its reply is.
  await send(LEAVE, {}).catch(() => undefined)
  const until = performance.now() + terms.drain_seconds * 1000 + MAX_ABSENCE_MS
  for (;;) {
    const taken = await take()
    if (taken !== null) return taken
    if (performance.now() > until) throw new Error('the other gateway did not leave in time')
    await Bun.sleep(20)
  }
}

/** A caller that waited longer would have given up. */
const MAX_WAIT_MS = 30_000
/** Beyond this many, a request is refused at once. */
const MAX_WAITING = 10_000

type Handle = (request: Request) => Response | Promise<Response>

/** Holds requests from when the port is open until the gateway can handle them: it may wait for another process to leave. */
export class WaitingRoom {
  private readonly maxWaitMs: number
  private readonly opened = Promise.withResolvers<void>()
  private handler: Handle | null = null
  private waiting = 0

  constructor(maxWaitMs = MAX_WAIT_MS) {
    this.maxWaitMs = maxWaitMs
  }

  /** Lets all requests in. */
  open(handler: Handle): void {
    this.handler = handler
    this.opened.resolve()
  }

  readonly handle: Handle = (request) => (this.handler ? this.handler(request) : this.wait(request))

  private async wait(request: Request): Promise<Response> {
    if (this.waiting >= MAX_WAITING) return notYet()
    this.waiting++
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, this.maxWaitMs)
    await Promise.race([this.opened.promise, late.promise])
    clearTimeout(timer)
    this.waiting--
    // A caller who left is not charged for a call that has not begun.
    return this.handler && !request.signal.aborted ? this.handler(request) : notYet()
  }
}

/** What a standby answers. */
export class StandbyAnswers {
  private readonly log: Log
  private state: { readonly lagSeconds: number | null; readonly problem: string | null } | null = null

  constructor(log: Log) {
    this.log = log
  }

  /** Notes how far its copy is, and logs why it would not take over whenever that changes. */
  readonly take = (state: NonNullable<typeof this.state>): void => {
    const { problem } = state
    if (problem !== this.state?.problem) {
      if (problem === null) this.log.info('standby: it would take over', { lagSeconds: state.lagSeconds })
      else this.log.warn('standby: it would not take over', { reason: problem })
    }
    this.state = state
  }

  readonly handle = (request: Request): Response => {
    const { pathname } = new URL(request.url)
    if (pathname === '/health') return Response.json({ status: 'ok' })
    if (pathname !== '/ready') return notYet('This server stands by for another one. Try again there.')
    const code = this.state?.problem === null ? 'standby' : 'standby_not_ready'
    const body = { status: 'not_ready', code, lag_seconds: this.state?.lagSeconds ?? null }
    return Response.json(body, { status: 503, headers: { 'retry-after': '1', 'cache-control': 'no-store' } })
  }
}

function notYet(message = 'This server is starting. Try again.'): Response {
  const error = {
    type: 'api_error',
    code: 'service_unavailable',
    message,
    request_id: null,
    retry_after: 1,
  }
  return Response.json({ error }, { status: 503, headers: { 'retry-after': '1', 'x-content-type-options': 'nosniff' } })
}
