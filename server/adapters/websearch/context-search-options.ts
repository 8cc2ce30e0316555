import { CONTEXT_BEHAVIOR } from '../../core/catalog/api-version'
import { type FreshnessWindow, freshnessWindow } from '../../core/catalog/freshness'
import type { LlmContextInput } from '../../core/catalog/llm-context'
import type { ContextBudget } from './passages/context-budget'
import type { AdultLevel } from './passages/page-content'
import type { ThresholdMode } from './passages/relevance-floor'

/** The options of an LLM context call for any source that splits and ranks pages itself. */
export interface ContextSearchOptions {
  readonly threshold: ThresholdMode
  readonly maxAdult: AdultLevel
  /** When a page must have been published; null for any time. */
  readonly published: FreshnessWindow | null
  readonly budget: ContextBudget
}

/** `moderate` drops explicit pages, `strict` also adult themes. */
const MAX_ADULT = { off: 2, moderate: 1, strict: 0 } as const

export function contextSearchOptions(input: LlmContextInput, nowMs: number): ContextSearchOptions {
  return {
    threshold: input.context_threshold_mode ?? CONTEXT_BEHAVIOR[input['api-version']].threshold,
    maxAdult: MAX_ADULT[input.safesearch ?? 'off'],
    published: input.freshness === undefined ? null : freshnessWindow(input.freshness, nowMs),
    budget: {
      urls: input.maximum_number_of_urls,
      snippets: input.maximum_number_of_snippets,
      snippetsPerUrl: input.maximum_number_of_snippets_per_url,
      tokens: input.maximum_number_of_tokens,
      tokensPerUrl: input.maximum_number_of_tokens_per_url,
    },
  }
}
