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

function notYet(): Response {
  const error = {
    ...{ type: 'api_error', code: 'service_unavailable', message: 'This server is starting. Try again.' },
    ...{ request_id: null, retry_after: 1 },
  }
  return Response.json({ error }, { status: 503, headers: { 'retry-after': '1', 'x-content-type-options': 'nosniff' } })
}
