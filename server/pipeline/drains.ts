import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import { type Model, upstreamName } from '../core/models/model'

/** The calls that one process runs on after their callers hung up. */
const MAX_OF_PROCESS = 512
/** An account may have this many times its tier's concurrent calls running after their callers hung up. */
const TIMES_THE_TIER = 2
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
 * fill half of this process or of the upstream. They also keep their concurrency slots on their key.
 */
export class Drains {
  private readonly byAccount = new Map<AccountId, number>()
  private readonly byUpstream = new Map<string, number>()
  private readonly shareOf: (cap: number) => number
  private running = 0

  /** `shareOf`: how much of an upstream's concurrency is this gateway's; all of it, if there is no other. */
  constructor(shareOf: (cap: number) => number = (cap) => cap) {
    this.shareOf = shareOf
  }

  /** Why a new call must wait, or null. `concurrency`: the calls that the account's tier runs at once. */
  refusal(account: AccountId, concurrency: number, { upstreams }: Pick<Model, 'upstreams'>): Failure | null {
    const own = this.byAccount.get(account) ?? 0
    if (own === 0) return null
    const isFull = upstreams.every(
      (upstream) => (this.byUpstream.get(upstreamName(upstream)) ?? 0) >= this.shareOf(upstream.concurrency) / 2,
    )
    if (own < TIMES_THE_TIER * concurrency && this.running < MAX_OF_PROCESS && !isFull) return null
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
        this.count(account, upstream, 1)
      },
      at: (name) => {
        if (state === 'alone') {
          add(this.byUpstream, upstream, -1)
          add(this.byUpstream, name, 1)
        }
        upstream = name
      },
      end: () => {
        if (state === 'alone') this.count(account, upstream, -1)
        state = 'over'
      },
    }
  }

  private count(account: AccountId, upstream: string, change: 1 | -1): void {
    this.running += change
    add(this.byAccount, account, change)
    add(this.byUpstream, upstream, change)
  }
}

function add<K>(counts: Map<K, number>, name: K, change: number): void {
  const now = (counts.get(name) ?? 0) + change
  if (now === 0) counts.delete(name)
  else counts.set(name, now)
}
