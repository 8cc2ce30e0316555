import type { OutboundProblem, OutboundProblemKind } from '../../core/outbound/outbound-fetch'

/** When a request must end: after a time, or once its caller aborts. */
export class Deadline {
  /** The caller's own where that ends in time. */
  readonly signal: AbortSignal
  private readonly caller: AbortSignal | undefined
  private readonly abort: AbortController | null = null
  private readonly timer: ReturnType<typeof setTimeout> | undefined

  constructor(ms: number, caller: AbortSignal | undefined) {
    this.caller = caller
    if (ms === Number.POSITIVE_INFINITY && caller) {
      this.signal = caller
      return
    }
    this.abort = new AbortController()
    this.signal = this.abort.signal
    this.timer = setTimeout(abortLate, ms, this.abort)
    caller?.addEventListener('abort', this, { once: true })
    if (caller?.aborted) this.abort.abort()
  }

  /** Whether it is the caller's alone, so that it needs no end. */
  get isCallers(): boolean {
    return this.abort === null
  }

  /** The caller aborted. */
  handleEvent(): void {
    this.abort?.abort()
  }

  /** From here on only the caller ends the request. */
  stopTimer(): void {
    clearTimeout(this.timer)
  }

  /** Call it when the request is over. */
  end(): void {
    clearTimeout(this.timer)
    if (this.abort) this.caller?.removeEventListener('abort', this)
  }

  /** Breaks the request off, if it is not over. */
  cancel(): void {
    this.end()
    this.abort?.abort()
  }

  /** The problem behind a throw: the caller's abort and the timer take precedence over any connection error. */
  problem(kind: OutboundProblemKind, reason: string): OutboundProblem {
    if (this.caller?.aborted) return { kind: 'aborted', reason: 'the caller canceled the request' }
    if (this.signal.aborted) return { kind: 'timeout', reason: 'no complete response before the deadline' }
    return { kind, reason }
  }
}

function abortLate(abort: AbortController): void {
  abort.abort()
}
