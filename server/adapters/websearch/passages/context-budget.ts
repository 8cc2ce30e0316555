import { snippetOf } from './passages'
import type { RankedPage } from './ranked-page'

/** The `maximum_number_of_...` parameters (spec 4.2). */
export interface ContextBudget {
  readonly urls: number
  readonly snippets: number
  readonly snippetsPerUrl: number
  readonly tokens: number
  readonly tokensPerUrl: number
}

/** A page with its selected snippets. */
export interface Grounding {
  readonly page: RankedPage
  readonly snippets: readonly string[]
}

interface Filling {
  readonly page: RankedPage
  readonly snippets: string[]
  tokens: number
}

/**
 * Selects the snippets that fit the budget, including each page's title. First the best of each page, in page order; then
 * the best of the rest, from any page. Snippets that do not fit the remaining budget are skipped.
 */
export function withinBudget(pages: readonly RankedPage[], budget: ContextBudget): Grounding[] {
  const filling = pages.slice(0, budget.urls).map((page): Filling => ({ page, snippets: [], tokens: 0 }))
  const best = filling.flatMap((into) => into.page.passages.slice(0, 1).map((passage) => ({ into, passage })))
  const rest = filling
    .flatMap((into) => into.page.passages.slice(1).map((passage) => ({ into, passage })))
    .sort((a, b) => b.passage.score - a.passage.score)
  let tokens = 0
  let snippets = 0
  for (const { into, passage } of [...best, ...rest]) {
    if (snippets >= budget.snippets) break
    if (into.snippets.length >= budget.snippetsPerUrl) continue
    const cost = passage.tokens + (into.snippets.length === 0 ? into.page.titleTokens : 0)
    if (tokens + cost > budget.tokens || into.tokens + cost > budget.tokensPerUrl) continue
    into.snippets.push(snippetOf(passage))
    into.tokens += cost
    tokens += cost
    snippets += 1
  }
  return filling.filter((into) => into.snippets.length > 0)
}
