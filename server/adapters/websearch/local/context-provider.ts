import type { LlmContextInput } from '../../../core/catalogue/llm-context'
import type { Provider } from '../../../core/providers/provider'
import { ok } from '../../../core/result'
import type { PublishedGoggles } from '../goggles/published-goggles'
import type { ContextQuestion } from './context-answer'
import type { IndexClient } from './index-client'
import { isIndexReady } from './index-readiness'

/** LLM context search over the local index. `now` gives milliseconds, for how long ago a page was published. */
export function contextProvider(
  client: IndexClient,
  goggles: PublishedGoggles | undefined,
  baseUrl: string,
  now: () => number,
): Provider<LlmContextInput> {
  return {
    name: 'local',
    async call(input, signal) {
      const entries = input.goggles ?? []
      const texts = goggles ? await goggles.texts(entries, signal) : ok(entries)
      if (!texts.ok) return texts
      const question = questionOf(input, texts.value)
      return client.ask({ kind: 'context', input: question, baseUrl, nowMs: now() }, signal)
    },
    ready: () => isIndexReady(client),
  }
}

/** The version whose documents name a default of `context_threshold_mode`; later ones name none, and then what has a word of the question is in. */
const FIRST_VERSION = '2026-02-06'
/** `moderate` drops what is explicit, `strict` adult themes as well. */
const MOST_ADULT = { off: 2, moderate: 1, strict: 0 } as const

function questionOf(input: LlmContextInput, goggles: readonly string[]): ContextQuestion {
  return {
    q: input.q,
    count: input.count,
    filter: { mostAdult: MOST_ADULT[input.safesearch ?? 'off'], published: null },
    threshold: input.context_threshold_mode ?? (input['api-version'] === FIRST_VERSION ? 'balanced' : 'disabled'),
    goggles,
    withMetadata: input.enable_source_metadata,
    apiVersion: input['api-version'],
    most: {
      urls: input.maximum_number_of_urls,
      snippets: input.maximum_number_of_snippets,
      snippetsPerUrl: input.maximum_number_of_snippets_per_url,
      tokens: input.maximum_number_of_tokens,
      tokensPerUrl: input.maximum_number_of_tokens_per_url,
    },
  }
}
