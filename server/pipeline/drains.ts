import { type Failure, failure } from '../core/failure'
import type { AccountId } from '../core/ids'
import { type Model, upstreamName } from '../core/models/model'

/** A process has room for so many calls that nobody listens to. */
const MAX_OF_PROCESS = 512
/** An account may have this many times the calls of its tier running without a listener. */
const TIMES_THE_TIER = 2
const RETRY_SECONDS = 5

/** A call whose caller may leave while it goes on. */
export interface Drain {
  /** The caller is gone. Free to repeat. */
  begin(): void
  /** Which upstream it is at, once that is known. */
  at(upstream: string): void
  /** Must be called on every way out. Free to repeat. */
  end(): void
}

/**
 * Calls of models that go on to their end without their caller. None is cut to make room for another: whoever has some running is
 * refused new ones, when they are twice as many as its tier runs at once, or all together fill half of this process or of the
 * upstream. They also keep their places on their key.
 */
export class Drains {
  private readonly byAccount = new Map<AccountId, number>()
  private readonly byUpstream = new Map<string, number>()
  private running = 0

  /** Why a new call must wait, or null. `most`: the calls that the account's tier runs at once. */
  refusal(account: AccountId, most: number, { upstreams }: Pick<Model, 'upstreams'>): Failure | null {
    const own = this.byAccount.get(account) ?? 0
    if (own === 0) return null
    const isFull = upstreams.every(
      (upstream) => (this.byUpstream.get(upstreamName(upstream)) ?? 0) >= upstream.concurrency / 2,
    )
    if (own < TIMES_THE_TIER * most && this.running < MAX_OF_PROCESS && !isFull) return null
    return failure(
      'rate_limit_exceeded',
      `${own} calls of this account are still running although their callers hung up. New calls are accepted once some of them have ended. Retry in ${RETRY_SECONDS} s.`,
      { retryAfterSeconds: RETRY_SECONDS, limitSource: 'account' },
    )
  }

  /** For a call that is about to begin. */
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
