import { MINUTE_MS } from '../../../../../core/clock'
import type { Send } from './bounded-fetch'
import { ranWhole } from './step-errors'

/** A libSQL server ends a stream that was idle for 10 s. */
const MAX_IDLE_MS = 5_000
/** After this time a stream is closed, so that none stays with a server that the address does not name any more. */
const MAX_AGE_MS = MINUTE_MS
/** How long no stream is kept after an answer that does not allow it. It may be of a proxy, for a moment. */
const OFF_MS = MINUTE_MS
/** The body of a request that opens a stream and closes it, without what lies between. */
const [OPENING, CLOSING] = ['{"requests":[', ',{"type":"close"}]}']
/** The text of a statement that a batch refers to by its number. */
const STORED = /\{"type":"store_sql","sql_id":(\d+),"sql":"[^"\\]*(?:\\.[^"\\]*)*"\},/y
const ASKING = /\{"type":"(execute|batch)",/y
const CLOSED = '{"type":"ok","response":{"type":"close"}}'
const FORGOTTEN = ',{"type":"ok","response":{"type":"close_sql"}}'
/** The beginning of an answer, up to the results, which are last. */
const HEAD = /^\{"baton":"([^"\\]+)","base_url":null,"results":\[/
/** How a server refuses a stream that it does not know any more, before it runs anything. */
const UNKNOWN = /^Received an invalid baton$|"code":"STREAM_EXPIRED"/

/** A request of a stream that is opened for it and closed. */
interface Asked {
  /** As JSON, without the brackets of the list. */
  readonly requests: string
  /** The numbers of the statements whose texts are stored before. */
  readonly stored: readonly string[]
  readonly isBatch: boolean
}

interface Stream {
  readonly baton: string
  readonly openedAt: number
  readonly usedAt: number
}

/**
 * Keeps the stream of a libSQL client open from one request to the next: a stream is a connection of SQLite, and opening one costs the server five times
 * as much as a look-up or a small commit. The client believes that it closes each. A request to an ended stream is sent again, because the server ran nothing of
 * it. Only for single statements and batches, which end their transaction; a stream where a batch failed, in a step or as a whole, is closed.
 */
export class KeptStream {
  private readonly send: Send
  private readonly now: () => number
  private kept: Stream | null = null
  private isBusy = false
  /** Until when none is kept, because the server lost one, or wants its requests at another address. */
  private offUntil = Number.NEGATIVE_INFINITY

  /** `now`: monotonic, in milliseconds. */
  constructor(send: Send, now: () => number) {
    this.send = send
    this.now = now
  }

  /** Sends what the client would send, in the kept stream. A second request at the same time gets a stream of its own. */
  readonly fetch: Send = async (request) => {
    const isOff = this.now() < this.offUntil
    if (this.isBusy || isOff || !request.url.endsWith('/v2/pipeline')) return this.send(request)
    this.isBusy = true
    try {
      return await this.exchange(request)
    } finally {
      this.isBusy = false
    }
  }

  private async exchange(request: Request): Promise<Response> {
    const text = await request.text()
    const say = (body: string) => this.send(new Request(request, { body }))
    const asked = askedIn(text)
    if (!asked) return say(text)
    const { kept } = this
    this.kept = null
    const forgetting = asked.stored.map((id) => `,{"type":"close_sql","sql_id":${id}}`).join('')
    const now = this.now()
    if (kept && now - kept.usedAt < MAX_IDLE_MS) {
      const isLast = now - kept.openedAt > MAX_AGE_MS
      const ending = isLast ? CLOSING : `${forgetting}]}`
      const answer = await say(`{"baton":"${kept.baton}","requests":[${asked.requests}${ending}`)
      // So other kinds of servers say that they lost a stream, and do not promise that nothing ran.
      if (answer.status === 404) this.turnOff()
      if (answer.status !== 400) return isLast ? answer : this.keptOpen(answer, asked, kept.openedAt, say)
      const refusal = await answer.text()
      // Any other failure is the client's to see.
      if (!UNKNOWN.test(refusal)) return new Response(refusal, answer)
    }
    return this.keptOpen(await say(`${OPENING}${asked.requests}${forgetting}]}`), asked, now, say)
  }

  /** The answer as the client expects it, from a stream that stays open. */
  private async keptOpen(
    answer: Response,
    { stored, isBatch }: Asked,
    openedAt: number,
    say: (body: string) => Promise<Response>,
  ): Promise<Response> {
    if (!answer.ok) return answer
    const text = await answer.text()
    const baton = HEAD.exec(text)?.[1]
    const ending = `${FORGOTTEN.repeat(stored.length)}]}`
    const { status, headers } = answer
    if (baton === undefined || !text.endsWith(ending)) {
      this.turnOff()
      return new Response(closedLater(text, stored.length), { status, headers })
    }
    // A transaction that it could not end would be in the way of whatever comes next.
    if (isBatch && !ranWhole(text)) close(baton, say)
    else this.kept = { baton, openedAt, usedAt: this.now() }
    return new Response(`${text.slice(0, -ending.length)},${CLOSED}]}`, { status, headers })
  }

  private turnOff(): void {
    this.offUntil = this.now() + OFF_MS
  }
}

/** The single step of a client's request, if it is alone in its stream. */
function askedIn(text: string): Asked | null {
  if (!text.startsWith(OPENING) || !text.endsWith(CLOSING)) return null
  const stored: string[] = []
  let at = OPENING.length
  for (;;) {
    STORED.lastIndex = at
    const id = STORED.exec(text)?.[1]
    if (id === undefined) break
    stored.push(id)
    at = STORED.lastIndex
  }
  ASKING.lastIndex = at
  const kind = ASKING.exec(text)?.[1]
  return kind ? { requests: text.slice(OPENING.length, -CLOSING.length), stored, isBatch: kind === 'batch' } : null
}

/** Without a waiter. If it fails, the server ends the stream by itself, 10 s later. */
function close(baton: string, say: (body: string) => Promise<Response>): void {
  void say(`{"baton":"${baton}","requests":[{"type":"close"}]}`).then(
    (closed) => closed.body?.cancel(),
    () => undefined,
  )
}

/** Of a server that writes its answers in another way. The stream ends by itself. */
function closedLater(text: string, stored: number): string {
  const said = JSON.parse(text) as { readonly results: readonly unknown[] }
  const own = said.results.slice(0, said.results.length - stored)
  return JSON.stringify({ ...said, results: [...own, JSON.parse(CLOSED)] })
}
