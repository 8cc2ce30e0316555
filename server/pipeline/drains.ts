import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import { Shares, TIMES_THE_TIER } from '../core/limits/shares'
import { type Model, upstreamName } from '../core/models/model'

/** The calls that one process runs on after their callers hung up. */
const MAX_OF_PROCESS = 512
const PROCESS = 'process'
const RETRY_SECONDS = 5

/** A call that goes on when its caller hangs up. */
export interface Drain {
  /** The caller hung up. May be called repeatedly. */
  begin(): void
  /** The upstream that answers the call, once that is known. */
  at(upstream: string): void
  /** Must be called on every way out. May be called repeatedly. */
  end(): void
}

/**
 * Model calls that run to their end after their caller hung up. None is aborted to make room for another. Instead, an account
 * that has some running is refused new calls once it has twice as many as its tier's concurrency, or once all of them together
 * fill their part of this process or half of the upstream, and it has at least an equal part of them. They also keep their concurrency slots
 * on their key.
 */
export class Drains {
  private readonly running = new Shares()

  /** Why a new call must wait, or null. `concurrency`: the calls that the account's tier runs at once. */
  refusal(account: AccountId, concurrency: number, { upstreams }: Pick<Model, 'upstreams'>): Failure | null {
    const { running } = this
    const own = running.heldBy(PROCESS, account)
    if (own === 0) return null
    const isOver =
      own >= TIMES_THE_TIER * concurrency ||
      running.isOver(PROCESS, account, MAX_OF_PROCESS) ||
      upstreams.every((one) => running.isOver(upstreamName(one), account, one.concurrency / 2))
    if (!isOver) return null
    return failure(
      'rate_limit_exceeded',
      `${own} calls of this account are still running although their callers hung up. New calls are accepted once some of them have ended.`,
      { retryAfterSeconds: RETRY_SECONDS, limitSource: 'account' },
    )
  }

  /** Registers a call that is about to begin. */
  open(account: AccountId, { upstreams }: Pick<Model, 'upstreams'>): Drain {
    let upstream = upstreams[0] ? upstreamName(upstreams[0]) : ''
    let state: 'listened to' | 'alone' | 'over' = 'listened to'
    return {
      begin: () => {
        if (state !== 'listened to') return
        state = 'alone'
        this.running.add(PROCESS, account)
        this.running.add(upstream, account)
      },
      at: (name) => {
        if (state === 'alone') {
          this.running.giveBack(upstream, account)
          this.running.add(name, account)
        }
        upstream = name
      },
      end: () => {
        if (state === 'alone') {
          this.running.giveBack(PROCESS, account)
          this.running.giveBack(upstream, account)
        }
        state = 'over'
      },
    }
  }
}
