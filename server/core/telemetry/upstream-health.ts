import { createHash } from 'node:crypto'
import { type Clock, MINUTE_MS } from '../clock'
import type { UpstreamFailure } from '../providers/provider'

/** How a request to an upstream ended. `neutral` says nothing about the upstream: the request was at fault, or a limit was reached. */
export type UpstreamOutcome = 'success' | 'fault' | 'neutral'

/** Whether a failure says that the upstream is unwell. One about the request, or about a limit, does not. */
export function isSourceFault({ kind, isAboutRequest, passThrough }: UpstreamFailure): boolean {
  return !isAboutRequest && !passThrough && (kind === 'error' || kind === 'unavailable' || kind === 'timeout')
}

/** The id of an outage, which may be in a header: a name may have any characters. */
export function outageId({ upstream, since }: Pick<UpstreamDown, 'upstream' | 'since'>): string {
  return `${createHash('sha256').update(upstream).digest('hex').slice(0, 16)}_${since}`
}

export interface UpstreamDown {
  readonly upstream: string
  readonly failures: number
  /** The time of the first failure since the last success. */
  readonly since: number
  /** The kind of the last failure. */
  readonly reason: string
}

/** Called once when an upstream goes down, and once when it is up again. Must not throw. */
export interface UpstreamWatchers {
  onDown(down: UpstreamDown): void
  onUp(up: Pick<UpstreamDown, 'upstream' | 'since'>): void
}

interface Failing {
  failures: number
  readonly since: number
  readonly firstAt: number
  isDown: boolean
}

const MIN_FAILURES = 3
const MIN_MS = MINUTE_MS
/** More failing upstreams than this at once are not watched. */
const MAX_FAILING = 1_000

/** Watches upstreams by the calls that use them. Down: 3 failures in a row, over at least a minute. Up: the next success. */
export class UpstreamHealth {
  private readonly clock: Clock
  private readonly stopwatch: Clock
  private readonly watchers: UpstreamWatchers
  private readonly failing = new Map<string, Failing>()

  /** `stopwatch` must be monotonic: it measures how long an upstream fails. */
  constructor(parts: { clock: Clock; stopwatch: Clock; watchers: UpstreamWatchers }) {
    this.clock = parts.clock
    this.stopwatch = parts.stopwatch
    this.watchers = parts.watchers
  }

  ended(upstream: string, outcome: UpstreamOutcome, reason: string): void {
    if (outcome === 'success') this.succeeded(upstream)
    else if (outcome === 'fault') this.failed(upstream, reason)
  }

  private succeeded(upstream: string): void {
    const known = this.failing.get(upstream)
    if (!known) return
    this.failing.delete(upstream)
    if (known.isDown) this.watchers.onUp({ upstream, since: known.since })
  }

  private failed(upstream: string, reason: string): void {
    const known = this.failing.get(upstream)
    if (!known) {
      if (this.failing.size >= MAX_FAILING) return
      const started = { since: this.clock.now(), firstAt: this.stopwatch.now() }
      this.failing.set(upstream, { failures: 1, ...started, isDown: false })
      return
    }
    known.failures++
    const isDown = known.failures >= MIN_FAILURES && this.stopwatch.now() - known.firstAt >= MIN_MS
    if (known.isDown || !isDown) return
    known.isDown = true
    this.watchers.onDown({ upstream, failures: known.failures, since: known.since, reason })
  }
}
