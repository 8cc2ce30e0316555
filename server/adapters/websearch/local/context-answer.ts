import type { Client } from '@libsql/client'
import type { RuleBooks } from '../goggles/rule-books'
import { contextBody } from '../passages/context-body'
import { type ContextBudget, withinBudget } from '../passages/context-budget'
import type { RankedPage } from '../passages/ranked-page'
import { aboveFloor, type ThresholdMode } from '../passages/relevance-floor'
import { searchTerms } from '../passages/search-terms'
import type { DocumentFilter } from './passage-matches'
import { searchPassages } from './search-passages'

/** What of an LLM context call the index answers. */
export interface ContextQuestion {
  readonly q: string
  readonly count: number
  readonly filter: DocumentFilter
  readonly threshold: ThresholdMode
  readonly withMetadata: boolean
  readonly apiVersion: string
  readonly most: ContextBudget
  /** Texts of goggles that were judged before. */
  readonly goggles: readonly string[]
}

/** The 200 body of an LLM context search, as JSON text (facts/upstreams.md 2.2). */
export async function contextAnswer(
  client: Client,
  question: ContextQuestion,
  baseUrl: string,
  nowMs: number,
  books: RuleBooks,
): Promise<string> {
  const { filter, withMetadata, apiVersion } = question
  const found = await searchPassages(client, { terms: searchTerms(question.q), filter })
  const considered = aboveFloor(reranked(found, question.goggles, books).slice(0, question.count), question.threshold)
  return contextBody({
    query: { original: question.q, spellcheckOff: true },
    generic: withinBudget(considered, question.most),
    places: [],
    withMetadata,
    apiVersion,
    baseUrl,
    nowMs,
  })
}

/** Goggles choose among all that was found, more than is asked for, so that they can bring some up. */
function reranked(found: readonly RankedPage[], goggles: readonly string[], books: RuleBooks): readonly RankedPage[] {
  if (goggles.length === 0) return found
  return books.of(goggles).rerank(found, ({ url, title, description, passages }) => {
    return { url, title, description, content: passages.map(({ text }) => text).join('\n') }
  })
}
