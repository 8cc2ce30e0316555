import { stemmer } from 'stemmer'

/** A part of a page under one heading. */
export interface GuideSection {
  readonly path: string
  readonly page: string
  readonly heading: string
  readonly id: string
  readonly text: string
  /** How much it counts: history less than explanations. */
  readonly weight: number
}

const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu
/** Names such as `TRUSTED_PROXIES` are one word, and their parts are too. */
const NAME = /[A-Za-z][A-Za-z0-9]*(?:[_.-][A-Za-z0-9]+)+/g
const STOP_WORDS = new Set(
  'a an and are as at be by can do does for from get how i if in into is it me my of on or the this to what when where which why with you your'.split(
    ' ',
  ),
)
const MAX_TERMS = 12
const HEADING_WEIGHT = 4
/** A section whose heading has the words in this order is what was looked for. */
const PHRASE_BONUS = 2
/** The parameters of BM25. */
const SATURATION = 1.2
const LENGTH = 0.6

/**
 * Full-text index of the sections of the guide, in memory: about a megabyte, and a search costs less than a millisecond, so it may serve
 * anybody. It does not use the search index that is on sale, which operators change and callers pay for.
 */
export class SectionIndex {
  private readonly sections: readonly GuideSection[]
  private readonly postings = new Map<string, Map<number, number>>()
  private readonly lengths: readonly number[]
  private readonly meanLength: number

  constructor(sections: readonly GuideSection[]) {
    this.sections = sections
    this.lengths = sections.map((section, at) => this.add(section, at))
    this.meanLength = this.lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, sections.length)
  }

  /** The sections that have words of the query, best first; those with more of its words come first. */
  search(query: string, max: number): readonly GuideSection[] {
    const terms = [...new Set(stems(query))].slice(0, MAX_TERMS)
    const phrase = wordsOf(query).join(' ')
    const scores = new Map<number, { score: number; terms: number }>()
    for (const term of terms) {
      const found = this.found(term, term === terms.at(-1))
      const rarity = Math.log(1 + (this.sections.length - found.size + 0.5) / (found.size + 0.5))
      for (const [at, count] of found) {
        const length = 1 - LENGTH + LENGTH * ((this.lengths[at] ?? 0) / this.meanLength)
        const earlier = scores.get(at) ?? { score: 0, terms: 0 }
        const score = (rarity * count * (SATURATION + 1)) / (count + SATURATION * length)
        scores.set(at, { score: earlier.score + score, terms: earlier.terms + 1 })
      }
    }
    const ranked = [...scores].map(([at, found]) => ({
      section: this.sections[at],
      score: found.score * (found.terms / terms.length) * this.factor(at, phrase),
    }))
    return ranked
      .sort((a, b) => b.score - a.score)
      .slice(0, max)
      .flatMap(({ section }) => section ?? [])
  }

  private factor(at: number, phrase: string): number {
    const { weight = 0, heading = '' } = this.sections[at] ?? {}
    return weight * (` ${wordsOf(heading).join(' ')} `.includes(` ${phrase} `) ? PHRASE_BONUS : 1)
  }

  /** The last word of a query may not be finished: if no section has it, the words that begin with it match. */
  private found(term: string, isLast: boolean): ReadonlyMap<number, number> {
    const exact = this.postings.get(term)
    if (exact || !isLast || term.length < 3) return exact ?? new Map()
    const all = new Map<number, number>()
    for (const [word, found] of this.postings) {
      if (!word.startsWith(term)) continue
      for (const [at, count] of found) all.set(at, (all.get(at) ?? 0) + count)
    }
    return all
  }

  private add({ heading, page, text }: GuideSection, at: number): number {
    const words = [...stems(text), ...repeated(stems(heading), HEADING_WEIGHT), ...stems(page)]
    for (const word of words) {
      const found = this.postings.get(word) ?? new Map<number, number>()
      found.set(at, (found.get(at) ?? 0) + 1)
      this.postings.set(word, found)
    }
    return words.length
  }
}

function wordsOf(text: string): string[] {
  return (text.match(WORD) ?? []).map((word) => word.toLowerCase())
}

function stems(text: string): string[] {
  const names = (text.match(NAME) ?? []).map((name) => name.toLowerCase())
  const words = wordsOf(text).filter((word) => !STOP_WORDS.has(word))
  return [...names, ...words.map((word) => stemmer(word))]
}

function repeated(words: readonly string[], times: number): readonly string[] {
  return Array.from({ length: times }, () => words).flat()
}
