import type { Clock } from '../../core/clock'
import type { ApiAnswer } from './ask-api'

/** What an entry weighs beside its body. */
const ENTRY_BYTES = 500

interface CachedAnswer {
  readonly answer: ApiAnswer
  readonly at: number
  readonly bytes: number
}

/**
 * Answers of reads, kept in memory up to a number of bytes; those used longest ago go first. The key holds all that was sent up and the
 * version of the operation, so that a change of the operation is a new question.
 */
export class ApiCache {
  private readonly clock: Clock
  private readonly maxBytes: number
  /** Least recently used first. */
  private readonly answers = new Map<string, CachedAnswer>()
  private size = 0

  constructor(clock: Clock, maxBytes = 64 * 1024 * 1024) {
    this.clock = clock
    this.maxBytes = maxBytes
  }

  get bytes(): number {
    return this.size
  }

  find(key: string, seconds: number): { readonly answer: ApiAnswer; readonly ageSeconds: number } | null {
    const cached = this.answers.get(key)
    if (!cached) return null
    this.drop(key, cached)
    const age = this.clock.now() - cached.at
    if (age >= seconds * 1000) return null
    this.answers.set(key, cached)
    this.size += cached.bytes
    return { answer: cached.answer, ageSeconds: Math.floor(age / 1000) }
  }

  keep(key: string, answer: ApiAnswer): void {
    const before = this.answers.get(key)
    if (before) this.drop(key, before)
    const bytes = ENTRY_BYTES + key.length * 2 + answer.body.byteLength
    if (bytes > this.maxBytes) return
    this.answers.set(key, { answer, at: this.clock.now(), bytes })
    this.size += bytes
    for (const [oldest, kept] of this.answers) {
      if (this.size <= this.maxBytes) break
      this.drop(oldest, kept)
    }
  }

  private drop(key: string, { bytes }: CachedAnswer): void {
    this.answers.delete(key)
    this.size -= bytes
  }
}
