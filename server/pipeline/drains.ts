import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import { Shares, TIMES_THE_TIER } from '../core/limits/shares'
import { type Model, type ModelUpstream, upstreamName } from '../core/models/model'

/** The calls that one process runs on after their callers hung up. */
const MAX_OF_PROCESS = 512
const PROCESS = 'process'
const RETRY_SECONDS = 5

/** A call that goes on when its caller hangs up. It is the listener for the hang-up itself, so that a call makes no closures for it. */
export class Drain implements EventListenerObject {
  private readonly running: Shares
  private readonly account: AccountId
  private readonly hangUp: AbortSignal | null
  private readonly first: ModelUpstream | undefined
  private upstream: string | null = null
  private state: 'listened to' | 'alone' | 'over' = 'listened to'

  constructor(running: Shares, account: AccountId, first: ModelUpstream | undefined, hangUp: AbortSignal | null) {
    this.running = running
    this.account = account
    this.first = first
    this.hangUp = hangUp
    hangUp?.addEventListener('abort', this, { once: true })
  }

  handleEvent(): void {
    this.begin()
  }

  /** The caller hung up. May be called repeatedly. */
  begin(): void {
    if (this.state !== 'listened to') return
    this.state = 'alone'
    this.upstream ??= this.first ? upstreamName(this.first) : ''
    this.running.add(PROCESS, this.account)
    this.running.add(this.upstream, this.account)
  }

  /** The upstream that answers the call, once that is known. */
  at(name: string): void {
    if (this.state === 'alone') {
      if (this.upstream !== null) this.running.giveBack(this.upstream, this.account)
      this.running.add(name, this.account)
    }
    this.upstream = name
  }

  /** Must be called on every way out. May be called repeatedly. */
  end(): void {
    this.hangUp?.removeEventListener('abort', this)
    if (this.state === 'alone') {
      this.running.giveBack(PROCESS, this.account)
      if (this.upstream !== null) this.running.giveBack(this.upstream, this.account)
    }
    this.state = 'over'
  }
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

  /** `hangUp`: null for a call whose hang-up is said by `begin`. */
  open(account: AccountId, { upstreams }: Pick<Model, 'upstreams'>, hangUp: AbortSignal | null): Drain {
    return new Drain(this.running, account, upstreams[0], hangUp)
  }
}
