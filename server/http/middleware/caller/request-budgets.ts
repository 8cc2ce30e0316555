import { MINUTE_MS } from '../../../core/clock'
import type { AccountId } from '../../../core/ids'
import type { Limiter, Subject } from '../../../core/limits/limiter'
import type { Limits } from '../../../core/limits/tier'
import { limitFailure, visits } from '../../../pipeline/auth/authenticate'
import type { RequestContext } from '../request-context'
import { Failed } from '../response/failures'

/** The session in a Cookie header, under the names that the sign-in library gives it. */
const SESSION_COOKIE = /(?:^|;\s*)(?:__Secure-)?[\w.-]+\.session_token=([^;]{1,256})/
const MAX_SESSIONS = 10_000
const ROWS_PER_UNIT = 100
/** How often a download looks whether it may go on. */
const RETRY_MS = 250
const MAX_RETRIES = (5 * MINUTE_MS) / RETRY_MS

/**
 * Counts the requests of routes that take no key. Those of a session count on its account, all others on the address. A session that
 * this process has not seen yet counts on the address until it turns out to be valid, so that made-up cookies buy nothing.
 */
export class RequestBudgets {
  private readonly limiter: Limiter
  private readonly addressLimits: Limits
  private readonly accountLimits: Limits
  /** The accounts of sessions that were valid at their last request; the least recently used first. */
  private readonly sessions = new Map<string, AccountId>()

  constructor(limiter: Limiter, { address, account }: { readonly address: Limits; readonly account: Limits }) {
    this.limiter = limiter
    this.addressLimits = address
    this.accountLimits = account
  }

  /** Takes `cost` units of the caller's window, once per request. Throws `rate_limit_exceeded` if too little is left. */
  count(context: RequestContext, cost: number): void {
    if (context.counted) return
    const account = this.sessions.get(sessionIn(context) ?? '')
    const stranger = visits(context.address, this.addressLimits, cost)
    this.take(context, account === undefined ? stranger : this.ofAccount(account, cost))
  }

  /** Counts the request on the account of its session instead, once that is known. Idempotent. Throws as `count`. */
  countOn(context: RequestContext, account: AccountId): void {
    const before = context.counted
    if (!before) return
    const subject = this.ofAccount(account, before.cost ?? 1)
    if (before.name !== subject.name) {
      this.take(context, subject)
      this.limiter.giveBack([before], context.at)
    }
    this.remember(sessionIn(context), account)
  }

  /** The session of this request is not valid: from now on it is a stranger's. */
  forget(context: RequestContext): void {
    this.sessions.delete(sessionIn(context) ?? '')
  }

  private take(context: RequestContext, subject: Subject): void {
    const overLimit = this.limiter.countRequest([subject])
    context.readings = overLimit ? overLimit.readings : this.limiter.read([subject])
    if (overLimit) throw new Failed(limitFailure(overLimit, { kind: 'anonymous' }))
    context.counted = subject
    context.pace = (rows) => this.pace(context, subject, rows)
  }

  /** A download may take minutes: its connection is kept while it waits. Throws when the caller is gone, or after five minutes. */
  private async pace(context: RequestContext, subject: Subject, rows: number): Promise<void> {
    const rest = { ...subject, cost: Math.ceil(rows / ROWS_PER_UNIT) }
    if (rows === 0) return
    for (let tries = 1; this.limiter.countRequest([rest]) !== null; tries++) {
      if (tries > MAX_RETRIES) throw new Error('the download waited too long for its limit')
      context.allowSilence()
      await Bun.sleep(RETRY_MS)
      context.request.signal.throwIfAborted()
    }
  }

  private remember(session: string | null, account: AccountId): void {
    if (session === null) return
    this.sessions.delete(session)
    this.sessions.set(session, account)
    if (this.sessions.size <= MAX_SESSIONS) return
    for (const oldest of this.sessions.keys()) {
      this.sessions.delete(oldest)
      return
    }
  }

  private ofAccount(account: AccountId, cost: number): Subject {
    return { name: `sessions of ${account}`, limits: this.accountLimits, cost, owner: 'account' }
  }
}

function sessionIn({ request }: RequestContext): string | null {
  return SESSION_COOKIE.exec(request.headers.get('cookie') ?? '')?.[1] ?? null
}
