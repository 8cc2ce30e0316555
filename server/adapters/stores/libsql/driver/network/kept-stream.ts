type Send = (request: Request) => Promise<Response>

/** A libSQL server ends a stream that was idle for 10 s. */
const MAX_IDLE_MS = 5_000
/** After this time a stream is closed, so that none stays with a server that the address does not name any more. */
const MAX_AGE_MS = 60_000
const CLOSED = '{"type":"ok","response":{"type":"close"}}'
/** What an answer begins with, up to the results, which are last. */
const HEAD = /^\{"baton":"([^"\\]+)","base_url":null,"results":\[/

interface Asked {
  readonly baton?: string
  readonly requests: readonly { readonly type: string }[]
}

interface Stream {
  readonly baton: string
  readonly openedAt: number
  readonly usedAt: number
}

/**
 * Keeps the stream of a libSQL client open from one request to the next: a stream is a connection of SQLite, and to open one costs the server five times
 * what a look-up does. The client believes that it closes each. For reads alone: one that meets an ended stream is sent again. Only for single
 * statements: those of a batch are numbered by stream.
 */
export class KeptStream {
  private readonly send: Send
  private readonly now: () => number
  private kept: Stream | null = null
  private isBusy = false
  /** The server wants requests of a stream at another address. */
  private isOff = false

  /** `now`: monotonic, in milliseconds. */
  constructor(send: Send, now: () => number) {
    this.send = send
    this.now = now
  }

  /** Sends what the client would send, in the kept stream. A second request at the same time gets a stream of its own. */
  readonly fetch: Send = async (request) => {
    if (this.isBusy || this.isOff || !request.url.endsWith('/v2/pipeline')) return this.send(request)
    this.isBusy = true
    try {
      return await this.exchange(request)
    } finally {
      this.isBusy = false
    }
  }

  private async exchange(request: Request): Promise<Response> {
    const text = await request.text()
    const asked = JSON.parse(text) as Asked
    if (!isOneStatement(asked)) return this.send(new Request(request, { body: text }))
    const { kept } = this
    this.kept = null
    const requests = asked.requests.slice(0, -1)
    const now = this.now()
    if (kept && now - kept.usedAt < MAX_IDLE_MS) {
      const isLast = now - kept.openedAt > MAX_AGE_MS
      const again = { baton: kept.baton, requests: isLast ? asked.requests : requests }
      const answer = await this.send(new Request(request, { body: JSON.stringify(again) }))
      // Any other failure is the client's to see.
      if (answer.status !== 400) return isLast ? answer : this.keptOpen(answer, kept.openedAt)
      await answer.body?.cancel()
    }
    return this.keptOpen(await this.send(new Request(request, { body: JSON.stringify({ requests }) })), now)
  }

  /** The answer as the client expects it, from a stream that stays open. */
  private async keptOpen(answer: Response, openedAt: number): Promise<Response> {
    if (!answer.ok) return answer
    const text = await answer.text()
    const baton = HEAD.exec(text)?.[1]
    this.isOff = baton === undefined || !text.endsWith(']}')
    if (baton !== undefined && !this.isOff) this.kept = { baton, openedAt, usedAt: this.now() }
    const { status, headers } = answer
    return new Response(this.isOff ? closedLater(text) : `${text.slice(0, -2)},${CLOSED}]}`, { status, headers })
  }
}

/** Whether a stream is opened for one statement and closed. */
function isOneStatement({ baton, requests }: Asked): boolean {
  return baton === undefined && requests.map(({ type }) => type).join() === 'execute,close'
}

/** Of a server that writes its answers in another way. The stream ends by itself. */
function closedLater(text: string): string {
  const said = JSON.parse(text) as { readonly results: readonly unknown[] }
  return JSON.stringify({ ...said, results: [...said.results, JSON.parse(CLOSED)] })
}
