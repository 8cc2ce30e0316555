import { MINUTE_MS } from '../clock'
import type { AccountId } from '../ids'

const MAX_ACCOUNTS = 1_000

/** Allows an account so much within a minute. In memory: what it counted cannot be deleted by its owner. */
export class MinuteBrake {
  private readonly max: number
  private readonly times = new Map<AccountId, readonly number[]>()

  constructor(max: number) {
    this.max = max
  }

  /** Counts one, unless the account has had all of this minute. */
  take(account: AccountId, now: number): boolean {
    const recent = this.recent(account, now)
    if (recent.length >= this.max) return false
    if (this.times.size >= MAX_ACCOUNTS)
      for (const other of this.times.keys()) if (this.recent(other, now).length === 0) this.times.delete(other)
    this.times.set(account, [...recent, now])
    return true
  }

  /** Without times after now, from before the clock was set back. */
  private recent(account: AccountId, now: number): readonly number[] {
    return (this.times.get(account) ?? []).filter((at) => at <= now && now - at < MINUTE_MS)
  }
}
