import { createHash } from 'node:crypto'
import { type Clock, MINUTE_MS } from '../clock'
import type { UpstreamFailure } from '../providers/provider'
import { FailureStreak, type UpstreamFault } from './failure-streak'

/** Whether a failure says that the upstream is unwell. One about the request, or about a limit, does not. */
export function isSourceFault({ kind, isAboutRequest, passThrough }: UpstreamFailure): boolean {
  return !isAboutRequest && !passThrough && (kind === 'error' || kind === 'unavailable' || kind === 'timeout')
}

/** A fault of an upstream that a caller's call met. */
export function faultOf({ kind }: UpstreamFailure, caller: string): UpstreamFault {
  return { caller, isUnreachable: kind === 'unavailable' }
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
  readonly streak: FailureStreak
  readonly since: number
  readonly firstAt: number
  isDown: boolean
}

const MIN_FAILURES = 3
const MIN_MS = MINUTE_MS
/** More failing upstreams than this at once are not watched. */
const MAX_FAILING = 1_000

/**
 * Watches upstreams by the calls that use them. Down: 3 failures in a row, over at least a minute, of at least two callers or because it
 * could not be reached. Up: the next success.
 */
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

  succeeded(upstream: string): void {
    const known = this.failing.get(upstream)
    if (!known) return
    this.failing.delete(upstream)
    if (known.isDown) this.watchers.onUp({ upstream, since: known.since })
  }

  failed(upstream: string, fault: UpstreamFault, reason: string): void {
    const known = this.failing.get(upstream) ?? this.started(upstream)
    if (!known) return
    const { streak, since, firstAt } = known
    streak.failed(fault, since)
    if (known.isDown || !streak.isUpstreams(MIN_FAILURES) || this.stopwatch.now() - firstAt < MIN_MS) return
    known.isDown = true
    this.watchers.onDown({ upstream, failures: streak.count, since, reason })
  }

  private started(upstream: string): Failing | null {
    if (this.failing.size >= MAX_FAILING) return null
    const [since, firstAt] = [this.clock.now(), this.stopwatch.now()]
    const failing = { streak: new FailureStreak(), since, firstAt, isDown: false }
    this.failing.set(upstream, failing)
    return failing
  }
}
