import type { Clock } from '../../core/clock'
import type { Provider, ProviderAnswer } from '../../core/providers/provider'
import { ok } from '../../core/result'
import { ByteCache } from '../byte-cache'

/** Memory that an entry uses in addition to its texts. */
const ENTRY_BYTES = 200

export class ResponseCache {
  private readonly answers: ByteCache<ProviderAnswer['body']>

  constructor(clock: Clock, maxBytes: number) {
    this.answers = new ByteCache(clock, maxBytes)
  }

  get bytes(): number {
    return this.answers.bytes
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
        const cached = wantsFresh(input) ? null : this.answers.find(question, seconds)
        if (cached) return ok({ body: cached.value, ageSeconds: cached.ageSeconds })
        const answer = await provider.call(input, signal, origin)
        if (answer.ok) this.answers.keep(question, answer.value.body, bytesOf(answer.value.body))
        return answer
      },
      ready: () => provider.ready(),
    }
  }
}

function bytesOf(body: ProviderAnswer['body']): number {
  return ENTRY_BYTES + (typeof body === 'string' ? body.length * 2 : body.byteLength)
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
