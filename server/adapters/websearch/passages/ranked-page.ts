import type { Passage } from './passages'

/** A passage that answers a question. */
export interface RankedPassage extends Passage {
  /** The higher the better, within one question. */
  readonly score: number
  /** What part of the question it has, 0 to 1. */
  readonly coverage: number
  /** Whether its page begins with it. */
  readonly isFirst?: boolean
}

/** What an answer tells of a page, whatever was asked. */
export interface PageFacts {
  readonly url: string
  readonly title: string
  /** What the title costs. */
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
  /** The name of the place that the page is about; absent when it is about none. */
  readonly placeName?: string
}

/** A page with its passages that answer a question, best first; at least one. */
export interface RankedPage extends PageFacts {
  readonly score: number
  readonly passages: readonly RankedPassage[]
}

/** What the words of a page's beginning count for when pages are told apart: there it says what it is about. */
const BEGINNING = 1.3

/** How high a page stands: as high as its best passage, and a little higher for each of the next two. */
export function standing(passages: readonly { readonly score: number; readonly isFirst?: boolean }[]): number {
  const scores = passages.map(({ score, isFirst }) => (isFirst ? score * BEGINNING : score)).sort((a, b) => b - a)
  return (scores[0] ?? 0) + 0.1 * (scores[1] ?? 0) + 0.02 * (scores[2] ?? 0)
}
