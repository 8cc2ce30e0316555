import type { Client } from '@libsql/client'
import type { ApiVersion } from '../../../../core/catalog/api-version'
import type { RuleSet } from '../../../../core/goggles/rule-set'
import { err, ok, type Result } from '../../../../core/result'
import type { GoggleText } from '../../goggles/rule-books'
import { contextBody } from '../../passages/context-body'
import { type ContextBudget, withinBudget } from '../../passages/context-budget'
import type { RankedPage } from '../../passages/ranked-page'
import { aboveThreshold, type ThresholdMode } from '../../passages/relevance-floor'
import { searchTerms } from '../../passages/search-terms'
import { type Correct, spelled } from './index-spelling'
import type { DocumentFilter } from './passage-matches'
import type { Region } from './region-weight'
import { type PassageSearch, searchAtPlace, searchPassages } from './search-passages'
import type { CallerLocation } from './search-places'

/** The part of an LLM context call that the index answers. */
export interface ContextQuestion {
  readonly q: string
  readonly spellcheck: boolean
  readonly count: number
  readonly filter: DocumentFilter
  readonly region: Region
  /** The place for local recall; null without it. */
  readonly where: CallerLocation | null
  readonly threshold: ThresholdMode
  readonly withMetadata: boolean
  readonly apiVersion: ApiVersion
  readonly budget: ContextBudget
  readonly goggles: readonly GoggleText[]
}

/** Places take at most half of the pages of an answer, and no more than this. */
const MAX_PLACES = 10

/** Documents to rank. A call considers at most 50. Goggles choose among more. */
const MIN_CANDIDATES = 30
const GOGGLE_CANDIDATES = 200
/** Snippets are seldom smaller, so this bounds how many are ranked for a token budget. */
const MIN_SNIPPET_TOKENS = 100

/** The 200 body of an LLM context search as JSON, or the rule that its goggles (`rules`) break. */
export async function contextFromIndex(
  client: Client,
  question: ContextQuestion,
  baseUrl: string,
  nowMs: number,
  { rules, correct }: { readonly rules: RuleSet | null; readonly correct: Correct },
): Promise<Result<string, string>> {
  const { withMetadata, apiVersion, threshold, budget } = question
  const query = await spelled(question, correct)
  const search = {
    ...question,
    terms: searchTerms(query.altered ?? query.original),
    documents: rules ? GOGGLE_CANDIDATES : Math.max(MIN_CANDIDATES, Math.ceil(1.5 * question.count)),
    passages: Math.ceil(Math.min(1.5 * budget.snippets, budget.tokens / MIN_SNIPPET_TOKENS)),
  }
  const places = await placesOf(client, search, question)
  const taken = new Set(places.map(({ url }) => url))
  const ordered = reranked(await searchPassages(client, search), rules)
  if (!ordered.ok) return err(ordered.error)
  const found = ordered.value.filter(({ url }) => !taken.has(url))
  const considered = aboveThreshold(found.slice(0, question.count), threshold)
  const grounding = withinBudget([...places, ...considered], budget)
  return ok(
    contextBody({
      query,
      places: grounding.filter(({ page }) => taken.has(page.url)),
      generic: grounding.filter(({ page }) => !taken.has(page.url)),
      withMetadata,
      apiVersion,
      baseUrl,
      nowMs,
    }),
  )
}

/** Local recall is always strict, whatever `safesearch` is (spec 4.2). */
async function placesOf(
  client: Client,
  search: PassageSearch,
  { where, filter, threshold, budget }: ContextQuestion,
): Promise<RankedPage[]> {
  if (where === null) return []
  const found = await searchAtPlace(client, { ...search, filter: { ...filter, maxAdult: 0 } }, where)
  return aboveThreshold(found, threshold).slice(0, Math.min(MAX_PLACES, Math.ceil(budget.urls / 2)))
}

/** Applies goggles to all results, of which there are more than requested, so that goggles can move some up. */
function reranked(found: readonly RankedPage[], rules: RuleSet | null): Result<readonly RankedPage[], string> {
  if (rules === null) return ok(found)
  return rules.rerank(found, ({ url, title, description, passages }) => {
    return { url, title, description, content: passages.map(({ text }) => text).join('\n') }
  })
}
