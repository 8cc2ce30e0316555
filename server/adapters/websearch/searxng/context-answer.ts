import type { RuleSet } from '../../../core/goggles/rule-set'
import { err, ok, type Result } from '../../../core/result'
import { contextBody } from '../passages/context-body'
import { withinBudget } from '../passages/context-budget'
import { type CutPage, rankFetched } from '../passages/rank-pages'
import type { RankedPage } from '../passages/ranked-page'
import { aboveThreshold } from '../passages/relevance-floor'
import type { AnswerTask } from './page-wire'

/** The 200 body of an LLM context search over fetched pages as JSON, or the rule that its goggles (`rules`) break. */
export function contextFromPages(task: AnswerTask, rules: RuleSet): Result<string, string> {
  const { altered, withMetadata, apiVersion, baseUrl, nowMs } = task
  const ranked = ranking(altered ?? task.q, task.pages)
  const chosen = task.goggles.length === 0 ? ok(ranked) : rules.rerank(ranked, subjectOf)
  if (!chosen.ok) return err(chosen.error)
  const considered = aboveThreshold(chosen.value.slice(0, task.count), task.threshold)
  const body = contextBody({
    query: { original: task.q, spellcheckOff: !task.spellcheck, ...(altered !== null && { altered }) },
    generic: withinBudget(considered, task.budget),
    places: [],
    withMetadata,
    apiVersion,
    baseUrl,
    nowMs,
  })
  return ok(body)
}

function subjectOf({ url, title, description, passages }: RankedPage) {
  return { url, title, description, content: passages.map(({ text }) => text).join('\n') }
}

/** If no page has a word of the query, as in scripts without spaces, the engines' own order is kept. */
function ranking(q: string, pages: readonly CutPage[]): RankedPage[] {
  const ranked = rankFetched(q, pages)
  if (ranked.length > 0) return ranked
  return pages.flatMap(({ passages, prior, ...facts }): RankedPage[] => {
    const scored = passages.map((passage, at) => ({
      ...passage,
      score: prior / (at + 1),
      coverage: 1,
      isFirst: at === 0,
    }))
    return scored.length === 0 ? [] : [{ ...facts, passages: scored, score: prior }]
  })
}
