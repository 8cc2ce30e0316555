import { MINUTE_MS } from '../clock'

const CLEANED_AT = 1_000

/** Allows each key so much within any span of a length. In memory: what it counted cannot be deleted by an owner. */
export class Brake {
  private readonly max: number
  private readonly spanMs: number
  private readonly times = new Map<string, readonly number[]>()
  private cleanAt = CLEANED_AT

  constructor(max: number, spanMs = MINUTE_MS) {
    this.max = max
    this.spanMs = spanMs
  }

  isFree(key: string, now: number): boolean {
    return this.recent(key, now).length < this.max
  }

  /** Counts one, unless the key has had all of this span. */
  take(key: string, now: number): boolean {
    const recent = this.recent(key, now)
    if (recent.length >= this.max) return false
    if (this.times.size >= this.cleanAt) this.clean(now)
    this.times.set(key, [...recent, now])
    return true
  }

  private clean(now: number): void {
    for (const key of this.times.keys()) if (this.recent(key, now).length === 0) this.times.delete(key)
    this.cleanAt = Math.max(CLEANED_AT, 2 * this.times.size)
  }

  /** Without times after now, from before the clock was set back. */
  private recent(key: string, now: number): readonly number[] {
    return (this.times.get(key) ?? []).filter((at) => at <= now && now - at < this.spanMs)
  }
}
