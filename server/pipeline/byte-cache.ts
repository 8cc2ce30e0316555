import type { Clock } from '../core/clock'

interface Entry<V> {
  readonly value: V
  readonly at: number
  readonly bytes: number
}

/** A value of the cache, with its age. */
export interface Cached<V> {
  readonly value: V
  readonly ageSeconds: number
}

/** An in-memory cache that is limited in bytes. Evicts the least recently used entries. Lost with the process. */
export class ByteCache<V> {
  private readonly clock: Clock
  private readonly maxBytes: number
  /** Least recently used first. */
  private readonly entries = new Map<string, Entry<V>>()
  private size = 0

  constructor(clock: Clock, maxBytes: number) {
    this.clock = clock
    this.maxBytes = maxBytes
  }

  get bytes(): number {
    return this.size
  }

  /** The value under a key, with its age, if it was cached less than `seconds` ago. */
  find(key: string, seconds: number): Cached<V> | null {
    const cached = this.entries.get(key)
    if (!cached) return null
    this.drop(key, cached)
    const age = this.clock.now() - cached.at
    if (age >= seconds * 1000) return null
    this.entries.set(key, cached)
    this.size += cached.bytes
    return { value: cached.value, ageSeconds: Math.floor(age / 1000) }
  }

  /** `valueBytes`: what the value takes. The key is counted in addition. A value larger than the whole cache is not cached. */
  keep(key: string, value: V, valueBytes: number): void {
    const before = this.entries.get(key)
    if (before) this.drop(key, before)
    const bytes = key.length * 2 + valueBytes
    if (bytes > this.maxBytes) return
    this.entries.set(key, { value, at: this.clock.now(), bytes })
    this.size += bytes
    for (const [oldest, entry] of this.entries) {
      if (this.size <= this.maxBytes) break
      this.drop(oldest, entry)
    }
  }

  private drop(key: string, { bytes }: Entry<V>): void {
    this.entries.delete(key)
    this.size -= bytes
  }
}
