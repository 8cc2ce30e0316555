import type { CellName } from '../../core/cluster/cells'
import { type ForwardedCall, HOP_HEADER } from '../../core/cluster/hop'
import { corked } from '../../core/cluster/whole-body'
import { MISDIRECTED } from './hop-gate'
import { WHOLE_BYTES } from './link-frames'
import type { Exchange } from './peer-connection'
import type { ResponseHead } from './response-head'

/** How much of a stream is buffered here for a caller that reads slowly. */
const AHEAD_BYTES = 256 * 1024
/** A caller's connection closes after 60 s of silence, unless it is allowed. */
const SILENCE_MS = 20_000
/** A caller that does not read what is buffered here within this time, about 4 KB a second, must not keep a connection between nodes busy. */
const STALLED_MS = 120_000
/** An owner that released its cell has answered or refused every request. Its responses may be in flight for this long. */
const REPLACED_MS = 1_000

/** The outcome of a forwarded request. */
export type ExchangeOutcome =
  | { readonly kind: 'answered'; readonly response: Response }
  /** It did not arrive, or the other node is not the owner: it did not run. */
  | { readonly kind: 'not done'; readonly reason: string }
  /** It may have arrived, so it is unknown whether it ran. */
  | { readonly kind: 'lost'; readonly reason: string }

/** The connection of an exchange, or its share of one. */
export interface Carrier {
  /** The other node sends no more of the response until `resume`. */
  pause(): void
  resume(): void
  /** Ends the exchange here; the other node sees that the caller has hung up. */
  destroy(): void
}

/** A request that another node answers. */
export class ForwardedExchange implements Exchange {
  readonly cell: CellName
  readonly term: number
  private readonly carrier: Carrier
  private readonly call: ForwardedCall
  private startedAt: number
  private readonly settle: (outcome: ExchangeOutcome) => void
  private readonly onEnd: (exchange: ForwardedExchange) => void
  private begun: ResponseHead | null = null
  private whole: Uint8Array<ArrayBuffer> | null = null
  private filled = 0
  private stream: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>> | null = null
  private isSilenceAllowed = false
  /** Since when the caller has not read what is buffered here. */
  private stalledSince: number | null = null
  /** Since when another node owns the accounts. */
  private replacedAt: number | null = null
  isOver = false
  /** Runs when it is over, however it ends. */
  whenOver: (() => void) | null = null

  constructor(
    carrier: Carrier,
    of: { readonly cell: CellName; readonly term: number; readonly call: ForwardedCall; readonly startedAt: number },
    settle: (outcome: ExchangeOutcome) => void,
    onEnd: (exchange: ForwardedExchange) => void,
  ) {
    this.carrier = carrier
    this.cell = of.cell
    this.term = of.term
    this.call = of.call
    this.startedAt = of.startedAt
    this.settle = settle
    this.onEnd = onEnd
  }

  head(head: ResponseHead): void {
    this.begun = head
    if (isMisdirected(head)) return void this.settle({ kind: 'not done', reason: 'it is not the owner' })
    const { status, headers, length } = head
    if (length !== null && length <= WHOLE_BYTES) return
    this.allowSilence()
    const body = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        start: (controller) => {
          this.stream = controller
        },
        // Once it is over, the connection belongs to another request.
        pull: () => {
          this.stalledSince = null
          if (!this.isOver) this.carrier.resume()
        },
        cancel: () => this.callerGone(),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: AHEAD_BYTES }),
    )
    this.settle({ kind: 'answered', response: new Response(body, { status, headers }) })
  }

  body(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.stream) {
      this.stream.enqueue(bytes)
      if ((this.stream.desiredSize ?? 0) > 0) return
      this.stalledSince ??= performance.now()
      this.carrier.pause()
      return
    }
    const length = this.begun?.length ?? 0
    if (this.whole === null && bytes.byteLength === length) this.whole = bytes
    else {
      this.whole ??= new Uint8Array(length)
      this.whole.set(bytes, this.filled)
    }
    this.filled += bytes.byteLength
  }

  end(): void {
    this.over()
    if (this.stream) {
      this.stream.close()
      // The caller still has to read what is buffered here.
      this.call.allowSilence?.(false)
      return
    }
    if (!this.begun || isMisdirected(this.begun)) return
    const { status, headers } = this.begun
    const body = this.whole && corked(this.whole)
    this.settle({ kind: 'answered', response: new Response(body, { status, headers }) })
  }

  cut(reason: string, wasSent: boolean): void {
    this.over()
    // Shows the caller that the response is incomplete.
    if (this.stream) return void this.stream.error()
    this.settle({ kind: wasSent ? 'lost' : 'not done', reason })
  }

  /** The caller has hung up: the owner sees the same. */
  callerGone(): void {
    if (this.isOver) return
    this.over()
    this.carrier.destroy()
    this.settle({ kind: 'lost', reason: 'the caller has hung up' })
  }

  /** Ends it from this side: the owner will not answer any more. */
  abandon(reason: string): void {
    if (this.isOver) return
    this.carrier.destroy()
    this.cut(reason, true)
  }

  /** Another node owns the accounts now: the previous owner has a moment left to answer. */
  replaced(now: number): void {
    this.replacedAt ??= now
  }

  /** Part of the body was sent: restarts the time limit. */
  uploaded(): void {
    this.startedAt = performance.now()
  }

  /** Checks time limits. The owner limits streams, except when the caller does not read. */
  check(now: number, deadlineMs: number, stalledMs = STALLED_MS): void {
    if (this.replacedAt !== null && now - this.replacedAt > REPLACED_MS) {
      this.abandon('another node owns the accounts now')
      return
    }
    if (this.stream) {
      if (this.stalledSince !== null && now - this.stalledSince > stalledMs) this.abandon('the caller does not read')
      return
    }
    const waited = now - this.startedAt
    if (waited > deadlineMs) this.abandon(`no response within ${deadlineMs / 1000} s`)
    else if (waited > SILENCE_MS) this.allowSilence()
  }

  private allowSilence(): void {
    if (this.isSilenceAllowed) return
    this.isSilenceAllowed = true
    this.call.allowSilence?.(true)
  }

  private over(): void {
    this.isOver = true
    this.whenOver?.()
    this.onEnd(this)
  }
}

function isMisdirected({ status, headers }: ResponseHead): boolean {
  return status === 421 && headers.get(HOP_HEADER) === MISDIRECTED
}
