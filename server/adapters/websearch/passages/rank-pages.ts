import { type Corpus, scorePassage } from './passage-score'
import type { Passage } from './passages'
import { type PageFacts, pageScore, type RankedPage } from './ranked-page'
import { joinedTerms, searchTerms, TermFinder } from './search-terms'

/** A page that was fetched and split, with its search engine's rank. */
export interface CutPage extends PageFacts {
  readonly passages: readonly Passage[]
  /** The search engine's rank: 1 is best, down to 0. */
  readonly prior: number
}

/** The share of a page's score that a low rank at its search engine can cost. */
const PRIOR_WEIGHT = 0.5

/**
 * Ranks the passages of pages, and the pages by their passages, best first. Word rarity is measured within these pages. A
 * page is dropped when none of its passages contains a word of the question.
 */
export function rankPages(q: string, pages: readonly CutPage[]): RankedPage[] {
  const terms = searchTerms(q)
  const finder = new TermFinder([...terms, ...joinedTerms(terms)])
  const corpus = corpusOf(finder, pages)
  return pages
    .flatMap((page): RankedPage[] => {
      const { passages: cut, prior, ...facts } = page
      const trust = 1 - PRIOR_WEIGHT + PRIOR_WEIGHT * prior
      const passages = cut
        .map((passage, at) => {
          const { score, coverage } = scorePassage(finder, { title: page.title, ...passage }, corpus)
          return { ...passage, score: score * trust, coverage, isFirst: at === 0 }
        })
        .filter((passage) => passage.score > 0)
        .sort((a, b) => b.score - a.score)
      return passages.length === 0 ? [] : [{ ...facts, passages, score: pageScore(passages) }]
    })
    .sort((a, b) => b.score - a.score)
}

function corpusOf(finder: TermFinder, pages: readonly CutPage[]): Corpus {
  const all = pages.flatMap((page) => page.passages)
  const positions = all.map((passage) => finder.positions(`${passage.heading}\n${passage.text}`))
  const having = (positions[0] ?? []).map(
    (_, term) => positions.filter((found) => (found[term]?.length ?? 0) > 0).length,
  )
  const characters = all.reduce((sum, passage) => sum + passage.text.length, 0)
  return { passages: all.length, having, meanLength: characters / Math.max(1, all.length) }
}
