import type { LlmContextInput } from '../../../core/catalog/llm-context'
import type { Provider } from '../../../core/providers/provider'
import { ok } from '../../../core/result'
import { contextSearchOptions } from '../context-search-options'
import { BuildAllowance } from '../goggles/build-allowance'
import type { PublishedGoggles } from '../goggles/published-goggles'
import type { GoggleText } from '../goggles/rule-books'
import { type IndexClient, isIndexReady } from './index-client'
import type { ContextQuestion } from './query/context-answer'
import type { CallerLocation } from './query/search-places'

/** LLM context search over the local index. `now` returns milliseconds and is used for the age of pages. */
export function contextProvider(
  client: IndexClient,
  goggles: PublishedGoggles | undefined,
  baseUrl: string,
  now: () => number,
): Provider<LlmContextInput> {
  const allowance = new BuildAllowance({ now })
  return {
    name: 'local',
    isLocal: true,
    async call(input, signal, { caller }) {
      const entries = input.goggles ?? []
      const inline = () => ok(entries.map((text): GoggleText => ({ text, isHosted: false })))
      const texts = goggles ? await goggles.texts(entries, caller, signal) : inline()
      if (!texts.ok) return texts
      const nowMs = now()
      const question = { kind: 'context', input: questionOf(input, texts.value, nowMs), baseUrl, nowMs } as const
      return allowance.untilBuilt(caller, () => client.ask(question, caller, signal))
    },
    ready: () => isIndexReady(client),
  }
}

function questionOf(input: LlmContextInput, goggles: readonly GoggleText[], nowMs: number): ContextQuestion {
  const { maxAdult, published, threshold, budget } = contextSearchOptions(input, nowMs)
  return {
    q: input.q,
    spellcheck: input.spellcheck,
    count: input.count,
    filter: { maxAdult, published },
    region: { country: input.country, language: input.search_lang },
    where: whereabouts(input),
    threshold,
    goggles,
    withMetadata: input.enable_source_metadata,
    apiVersion: input['api-version'],
    budget,
  }
}

/**
 * The place for local recall (spec 4.2), which is on by default if there are coordinates or a city. Coordinates take precedence over
 * names. If local recall is requested without a place, every place matches.
 */
function whereabouts(input: LlmContextInput): CallerLocation | null {
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
