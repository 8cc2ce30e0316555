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
