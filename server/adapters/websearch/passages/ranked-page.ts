import type { Passage } from './passages'

/** A passage that answers a question. */
export interface RankedPassage extends Passage {
  /** The higher the better, within one question. */
  readonly score: number
  /** The share of the question that it covers, 0 to 1. */
  readonly coverage: number
  /** Whether it is the beginning of its page. */
  readonly isFirst?: boolean
}

/** The data of a page in a response, independent of the question. */
export interface PageFacts {
  readonly url: string
  readonly title: string
  /** Tokens of the title. */
  readonly titleTokens: number
  readonly hostname: string
  readonly siteName: string
  readonly description: string
  /** ISO timestamp; null when the page does not say. */
  readonly published: string | null
  /** UNIX seconds. */
  readonly fetchedAt: number
  readonly favicon: string | null
  /** Absolute, or a path of this gateway. */
  readonly thumbnail: string | null
  /** The name of the place that the page is about, if any. */
  readonly placeName?: string
}

/** A page with the passages that answer a question, best first; at least one. */
export interface RankedPage extends PageFacts {
  readonly score: number
  readonly passages: readonly RankedPassage[]
}

/** Extra weight of a page's beginning when pages are ranked: it says what the page is about. */
const BEGINNING = 1.3

/** A page's score: that of its best passage, plus a little for each of the next two. */
export function pageScore(passages: readonly { readonly score: number; readonly isFirst?: boolean }[]): number {
  const scores = passages.map(({ score, isFirst }) => (isFirst ? score * BEGINNING : score)).sort((a, b) => b - a)
  return (scores[0] ?? 0) + 0.1 * (scores[1] ?? 0) + 0.02 * (scores[2] ?? 0)
}
