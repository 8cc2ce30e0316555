import { type Corpus, scorePassage } from './passage-score'
import type { Passage } from './passages'
import type { PageFacts, RankedPage } from './ranked-page'
import { joinedTerms, searchTerms, TermFinder } from './search-terms'

/** A page whose passages are to be scored. */
export interface Candidate {
  readonly facts: PageFacts
  /** The factor for the scores of its passages. */
  readonly weight: number
  readonly passages: readonly CandidatePassage[]
}

export interface CandidatePassage extends Passage {
  /** Whether it is the beginning of its page. */
  readonly isFirst: boolean
  /** Additional keywords that are not shown. */
  readonly hidden?: string
}

/** A page that was fetched and split, with its search engine's rank. */
export interface CutPage extends PageFacts {
  readonly passages: readonly Passage[]
  /** The search engine's rank: 1 is best, down to 0. */
  readonly prior: number
}

/** The share of a page's score that a low rank at its search engine can cost. */
const PRIOR_WEIGHT = 0.5
/** Extra weight of a page's beginning when pages are ranked: it says what the page is about. */
const BEGINNING = 1.3

/**
 * Ranks the passages of pages, and the pages by their passages, best first. A page is dropped when none of its passages contains a word
 * of the question.
 */
export function rankPages(finder: TermFinder, corpus: Corpus, candidates: readonly Candidate[]): RankedPage[] {
  return candidates
    .flatMap(({ facts, weight, passages }): RankedPage[] => {
      const ranked = passages
        .map(({ heading, text, tokens, hidden, isFirst }) => {
          const words = { title: facts.title, heading, text, hidden: hidden ?? '' }
          const { score, coverage } = scorePassage(finder, words, corpus)
          return { heading, text, tokens, score: score * weight, coverage, isFirst }
        })
        .filter((passage) => passage.score > 0)
        .sort((a, b) => b.score - a.score)
      return ranked.length === 0 ? [] : [{ ...facts, passages: ranked, score: pageScore(ranked) }]
    })
    .sort((a, b) => b.score - a.score)
}

/** Ranks pages that a search engine found. Word rarity is measured within them. */
export function rankFetched(q: string, pages: readonly CutPage[]): RankedPage[] {
  const terms = searchTerms(q)
  const finder = new TermFinder([...terms, ...joinedTerms(terms)])
  const candidates = pages.map(({ passages, prior, ...facts }): Candidate => {
    const weight = 1 - PRIOR_WEIGHT + PRIOR_WEIGHT * prior
    return { facts, weight, passages: passages.map((passage, at) => ({ ...passage, isFirst: at === 0 })) }
  })
  return rankPages(finder, corpusOf(finder, pages), candidates)
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

/** A page's score: that of its best passage, plus a little for each of the next two. */
function pageScore(passages: readonly { readonly score: number; readonly isFirst: boolean }[]): number {
  const scores = passages.map(({ score, isFirst }) => (isFirst ? score * BEGINNING : score)).sort((a, b) => b - a)
  return (scores[0] ?? 0) + 0.1 * (scores[1] ?? 0) + 0.02 * (scores[2] ?? 0)
}
