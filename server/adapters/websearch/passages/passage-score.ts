import type { Positions, TermFinder } from './search-terms'

/** The words of one passage by field. */
export interface PassageWords {
  readonly title: string
  readonly heading: string
  readonly text: string
  /** Additional keywords that are not shown. */
  readonly hidden: string
}

/** The corpus statistics that a score needs. */
export interface Corpus {
  readonly passages: number
  /** How many passages contain each term, in the order of the question's terms. */
  readonly having: readonly number[]
  /** Average length of a passage's text, in characters. */
  readonly meanLength: number
}

export interface PassageScore {
  /** The higher the better, within one question. */
  readonly score: number
  /** The share of the question in the passage, 0 to 1; rare words count more than frequent ones. */
  readonly coverage: number
}

/**
 * The weights were chosen on half of the questions of `bun run bench:search`, and are evaluated on the other half (docs/search.md).
 * BM25F: a word's weight depends on its field, and saturates over all fields together.
 */
const FIELDS = { title: 3.5, heading: 1.5, text: 1, hidden: 2.5 }
const K1 = 1.1
/** The penalty for long passages (BM25's b). */
const B = 0.5
/** Adjacent words of the question that are near each other in a passage add up to this share of their weight. */
const PROXIMITY = 0.15
/** In characters: a word and the gap to the next one. */
const NEAR = 80
const SIDE_BY_SIDE = 14
/** An extra penalty for passages that lack part of the question. */
const COVERAGE_POWER = 0.1

/** Scores how well a passage answers a question: by its words' fields, rarity and proximity. */
export function scorePassage(finder: TermFinder, passage: PassageWords, corpus: Corpus): PassageScore {
  const title = finder.positions(passage.title)
  const heading = finder.positions(passage.heading)
  const text = finder.positions(passage.text)
  const hidden = finder.positions(passage.hidden)
  const norm = 1 - B + B * (passage.text.length / Math.max(1, corpus.meanLength))
  const weights = corpus.having.map((having) => rarity(corpus.passages, having))
  let score = 0
  let found = 0
  for (const [at, weight] of weights.entries()) {
    const frequency =
      (FIELDS.text * times(text, at)) / norm +
      FIELDS.heading * times(heading, at) +
      FIELDS.title * Math.min(1, times(title, at)) +
      FIELDS.hidden * Math.min(1, times(hidden, at))
    if (frequency === 0) continue
    if (!finder.terms[at]?.isJoined) found += 1 + weight
    score += (weight * frequency * (K1 + 1)) / (frequency + K1)
  }
  const all = weights.reduce((sum, weight, at) => (finder.terms[at]?.isJoined ? sum : sum + 1 + weight), 0)
  const coverage = all === 0 ? 0 : found / all
  const singleTerms = weights.filter((_, at) => !finder.terms[at]?.isJoined)
  const near = Math.max(nearness(singleTerms, text), nearness(singleTerms, heading), nearness(singleTerms, title))
  return { score: (score + PROXIMITY * near) * coverage ** COVERAGE_POWER, coverage }
}

/** A term's inverse document frequency: low when every second passage contains it. */
function rarity(passages: number, having: number): number {
  return Math.log(1 + (passages - having + 0.5) / (having + 0.5))
}

function times(positions: Positions, term: number): number {
  return positions[term]?.length ?? 0
}

/** The sum over adjacent words of the question of their weight, reduced by their distance in the passage. */
function nearness(weights: readonly number[], positions: Positions): number {
  let sum = 0
  for (let at = 1; at < weights.length; at++) {
    const distance = minDistance(positions[at - 1] ?? [], positions[at] ?? [])
    if (distance > NEAR) continue
    sum += Math.min(weights[at - 1] ?? 0, weights[at] ?? 0) * Math.min(1, SIDE_BY_SIDE / distance)
  }
  return sum
}

/** In characters; the wrong order counts twice. */
function minDistance(first: readonly number[], second: readonly number[]): number {
  let least = Number.POSITIVE_INFINITY
  let from = 0
  for (const position of second) {
    while (from + 1 < first.length && (first[from + 1] ?? 0) < position) from++
    for (const other of [first[from], first[from + 1]]) {
      if (other === undefined || other === position) continue
      least = Math.min(least, other < position ? position - other : 2 * (other - position))
    }
  }
  return least
}
