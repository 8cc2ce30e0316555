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

function questionOf(input: LlmContextInput, goggles: readonly string[]): ContextQuestion {
  return {
    q: input.q,
    count: input.count,
    includeAdult: input.safesearch === undefined || input.safesearch === 'off',
    goggles,
    withMetadata: input.enable_source_metadata,
    most: {
      urls: input.maximum_number_of_urls,
      snippets: input.maximum_number_of_snippets,
      snippetsPerUrl: input.maximum_number_of_snippets_per_url,
      tokens: input.maximum_number_of_tokens,
      tokensPerUrl: input.maximum_number_of_tokens_per_url,
    },
  }
}
