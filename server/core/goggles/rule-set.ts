import { err, ok, type Result } from '../result'
import { SearchablePage, type Texts } from './instruction-index'
import { MatchWork, TOO_MUCH_WORK } from './match-work'
import type { RuleBook } from './rule-book'

/** The parts of a result that goggles can match. */
export interface PageSubject {
  readonly url: string
  readonly title: string
  readonly description: string
  readonly content: string
}

/** The effect on a result. `strength` is from 1 to 10. */
export type PageFate =
  | { readonly kind: 'kept' }
  | { readonly kind: 'discarded' }
  | { readonly kind: 'boosted' | 'downranked'; readonly strength: number }

const KEPT: PageFate = { kind: 'kept' }
const DISCARDED: PageFate = { kind: 'discarded' }
/** Each step of strength moves a result by a tenth of all results, so that ten steps move the last one above the first. */
const STEPS = 10
/** Breaks ties between moved and unmoved results: a boost goes above, a downrank below. */
const TIE = 0.5

/**
 * The instructions of all goggles of a request, which act like a single goggle.
 */
export class RuleSet {
  private readonly books: readonly RuleBook[]
  private readonly spent: number

  /** `spent` is the work of building the books, which counts towards the search's limit. */
  constructor(books: readonly RuleBook[], spent = 0) {
    this.books = books
    this.spent = spent
  }

  /** Whether matching needs the content of pages. */
  get looksAtContent(): boolean {
    return this.books.some(({ looksAtContent }) => looksAtContent)
  }

  /** The outcome of the winning rule: a discard, else the strongest boost, else the weakest downrank, else the default. */
  fateOf(subject: PageSubject, work = new MatchWork()): PageFate {
    const page = new SearchablePage(textsOf(subject), work)
    const host = hostOf(subject.url)
    let boost = 0
    let downrank = 0
    for (const index of this.books.flatMap((book) => book.rulesOf(host)))
      for (const { action, strength } of index.matching(page)) {
        if (action === 'discard') return DISCARDED
        if (action === 'boost') boost = Math.max(boost, strength)
        else downrank = downrank === 0 ? strength : Math.min(downrank, strength)
      }
    if (boost > 0) return { kind: 'boosted', strength: boost }
    if (downrank > 0) return { kind: 'downranked', strength: downrank }
    return this.books.some(({ discardsRest }) => discardsRest) ? DISCARDED : KEPT
  }

  /**
   * Returns the remaining results in their new order. Must get all results, before any are cut off. The error is the broken rule when
   * the goggles take too much work.
   */
  rerank<T>(results: readonly T[], subjectOf: (result: T) => PageSubject): Result<T[], string> {
    const step = Math.max(1, results.length / STEPS)
    const work = new MatchWork(this.spent)
    const left = results
      .flatMap((result, at) => {
        const fate = this.fateOf(subjectOf(result), work)
        if (fate.kind === 'discarded') return []
        const moved = fate.kind === 'kept' ? 0 : step * fate.strength + TIE
        return [{ result, key: fate.kind === 'boosted' ? at - moved : at + moved }]
      })
      .sort((a, b) => a.key - b.key)
      .map(({ result }) => result)
    return work.isTooMuch ? err(TOO_MUCH_WORK) : ok(left)
  }
}

/** The host of a URL without `www.`; empty if the URL is invalid. */
function hostOf(address: string): string {
  const host = (URL.parse(address)?.hostname ?? '').toLowerCase()
  return host.startsWith('www.') ? host.slice('www.'.length) : host
}

function textsOf({ url, title, description, content }: PageSubject): Texts {
  return {
    url: (url.split('#')[0] ?? '').toLowerCase(),
    title: title.toLowerCase(),
    description: description.toLowerCase(),
    content: content.toLowerCase(),
  }
}
