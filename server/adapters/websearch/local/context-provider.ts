import type { LlmContextInput } from '../../../core/catalogue/llm-context'
import type { Provider } from '../../../core/providers/provider'
import { ok } from '../../../core/result'
import type { PublishedGoggles } from '../goggles/published-goggles'
import type { ContextQuestion } from './context-answer'
import type { IndexClient } from './index-client'
import { isIndexReady } from './index-readiness'
import type { DocumentFilter } from './passage-matches'
import type { Whereabouts } from './search-places'

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
      const nowMs = now()
      const question = questionOf(input, texts.value, nowMs)
      return client.ask({ kind: 'context', input: question, baseUrl, nowMs }, signal)
    },
    ready: () => isIndexReady(client),
  }
}

/** The version whose documents name a default of `context_threshold_mode`; later ones name none, and then what has a word of the question is in. */
const FIRST_VERSION = '2026-02-06'
/** `moderate` drops what is explicit, `strict` adult themes as well. */
const MOST_ADULT = { off: 2, moderate: 1, strict: 0 } as const

function questionOf(input: LlmContextInput, goggles: readonly string[], nowMs: number): ContextQuestion {
  return {
    q: input.q,
    spellcheck: input.spellcheck,
    count: input.count,
    filter: { mostAdult: MOST_ADULT[input.safesearch ?? 'off'], published: publishedWithin(input.freshness, nowMs) },
    region: { country: input.country, language: input.search_lang },
    where: whereabouts(input),
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

const DAY_MS = 86_400_000
const DAYS: Readonly<Record<string, number>> = { pd: 1, pw: 7, pm: 31, py: 365 }

/** The days of a range are both whole and both meant, in UTC; what lies in the future is no older than anything. */
function publishedWithin(freshness: string | undefined, nowMs: number): DocumentFilter['published'] {
  if (freshness === undefined) return null
  const days = DAYS[freshness]
  const [first, last] = freshness.split('to')
  const from = days === undefined ? Date.parse(`${first}T00:00:00Z`) : nowMs - days * DAY_MS
  const before = days === undefined ? Date.parse(`${last}T00:00:00Z`) + DAY_MS : nowMs + DAY_MS
  return { from: new Date(from).toISOString(), before: new Date(before).toISOString() }
}

/**
 * Where local recall looks (spec 4.2): unasked, when there is a point or a city. A point goes before names. Asked for
 * without a place, every place will do.
 */
function whereabouts(input: LlmContextInput): Whereabouts | null {
  const { 'x-loc-lat': latitude, 'x-loc-long': longitude, 'x-loc-city': city, enable_local: wanted } = input
  if (wanted === false) return null
  if (latitude !== undefined && longitude !== undefined) return { kind: 'point', latitude, longitude }
  if (city === undefined && wanted !== true) return null
  return {
    kind: 'names',
    city: city ?? null,
    states: [input['x-loc-state'], input['x-loc-state-name']].filter((state) => state !== undefined),
    country: input['x-loc-country'] ?? null,
    postalCode: input['x-loc-postal-code'] ?? null,
  }
}
