import type { Clock } from '../../core/clock'
import type { Provider, ProviderAnswer } from '../../core/providers/provider'
import { ok } from '../../core/result'

interface CacheEntry {
  readonly body: ProviderAnswer['body']
  readonly at: number
  readonly bytes: number
}

/** Memory that an entry uses in addition to its texts. */
const ENTRY_BYTES = 200

/** An in-memory cache of answers, limited in bytes. Evicts the least recently used entries. Lost with the process. */
export class ResponseCache {
  private readonly clock: Clock
  private readonly maxBytes: number
  /** Least recently used first. */
  private readonly answers = new Map<string, CacheEntry>()
  private size = 0

  constructor(clock: Clock, maxBytes: number) {
    this.clock = clock
    this.maxBytes = maxBytes
  }

  /** Bytes held now. */
  get bytes(): number {
    return this.size
  }

  /**
   * A source whose successes are cached for `seconds` and returned, with their age, for the same question. The question is all of
   * the input except `cache-control`. `cache-control: no-cache` calls the source and caches its answer.
   */
  over<I extends object>(provider: Provider<I>, operation: string, seconds: number): Provider<I> {
    return {
      ...provider,
      call: async (input, signal, origin) => {
        const question = questionOf(provider.name, operation, input)
        const cached = wantsFresh(input) ? null : this.fresh(question, seconds)
        if (cached) return ok({ body: cached.body, ageSeconds: Math.floor((this.clock.now() - cached.at) / 1000) })
        const answer = await provider.call(input, signal, origin)
        if (answer.ok) this.keep(question, answer.value.body)
        return answer
      },
      ready: () => provider.ready(),
    }
  }

  private fresh(question: string, seconds: number): CacheEntry | null {
    const cached = this.answers.get(question)
    if (!cached) return null
    this.drop(question, cached)
    if (this.clock.now() - cached.at >= seconds * 1000) return null
    this.answers.set(question, cached)
    this.size += cached.bytes
    return cached
  }

  private keep(question: string, body: ProviderAnswer['body']): void {
    const bodyBytes = typeof body === 'string' ? body.length * 2 : body.byteLength
    const bytes = ENTRY_BYTES + question.length * 2 + bodyBytes
    const before = this.answers.get(question)
    if (before) this.drop(question, before)
    if (bytes > this.maxBytes) return
    this.answers.set(question, { body, at: this.clock.now(), bytes })
    this.size += bytes
    for (const [oldest, kept] of this.answers) {
      if (this.size <= this.maxBytes) break
      this.drop(oldest, kept)
    }
  }

  private drop(question: string, { bytes }: CacheEntry): void {
    this.answers.delete(question)
    this.size -= bytes
  }
}

/** Compares parsed values: sending a default explicitly is the same question as leaving it out. */
function questionOf(provider: string, operation: string, input: object): string {
  const members = Object.entries(input).filter(([name, value]) => name !== 'cache-control' && value !== undefined)
  return JSON.stringify([provider, operation, members.sort(([a], [b]) => (a < b ? -1 : 1))])
}

function wantsFresh(input: object): boolean {
  const cacheControl: unknown = Reflect.get(input, 'cache-control')
  return (
    typeof cacheControl === 'string' && cacheControl.split(',').some((part) => part.trim().toLowerCase() === 'no-cache')
  )
}
