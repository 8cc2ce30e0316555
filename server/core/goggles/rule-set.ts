import { no, ok, type Result } from '../result'
import { Page, type Texts } from './instruction-index'
import { MatchWork, TOO_MUCH_WORK } from './match-work'
import type { RuleBook } from './rule-book'

/** A result, as far as a goggle looks at it. */
export interface Subject {
  readonly url: string
  readonly title: string
  readonly description: string
  readonly content: string
}

/** What happens to one result. `boost` and `downrank` with 1 to 10. */
export type Fate =
  | { readonly kind: 'kept' }
  | { readonly kind: 'discarded' }
  | { readonly kind: 'boosted' | 'downranked'; readonly strength: number }

const KEPT: Fate = { kind: 'kept' }
const DISCARDED: Fate = { kind: 'discarded' }
/** Each step of strength moves a result by a tenth of all results, so that ten lift the last one over the first. */
const STEPS = 10
/** Where a moved result meets one that was not: a boost passes it, a downrank lets it pass. */
const TIE = 0.5

/**
 * The instructions of all goggles of one request, judged together (facts/upstreams.md 3.5 to 3.9): which of them wins is the same
 * as if they stood in one book.
 */
export class RuleSet {
  readonly #books: readonly RuleBook[]
  readonly #spent: number

  /** `spent` is what of the work that one search may take went into building its books. */
  constructor(books: readonly RuleBook[], spent = 0) {
    this.#books = books
    this.#spent = spent
  }

  /** Whether it can only judge who has the text of a page. */
  get looksAtContent(): boolean {
    return this.#books.some(({ looksAtContent }) => looksAtContent)
  }

  /** What the one rule that wins says: a discard, else the strongest boost, else the weakest downrank, else the rest. */
  fateOf(subject: Subject, work = new MatchWork()): Fate {
    const page = new Page(textsOf(subject), work)
    const host = hostOf(subject.url)
    let boost = 0
    let downrank = 0
    for (const index of this.#books.flatMap((book) => book.rulesOf(host)))
      for (const { action, strength } of index.matching(page)) {
        if (action === 'discard') return DISCARDED
        if (action === 'boost') boost = Math.max(boost, strength)
        else downrank = downrank === 0 ? strength : Math.min(downrank, strength)
      }
    if (boost > 0) return { kind: 'boosted', strength: boost }
    if (downrank > 0) return { kind: 'downranked', strength: downrank }
    return this.#books.some(({ discardsRest }) => discardsRest) ? DISCARDED : KEPT
  }

  /**
   * The results that are left, in their new order. Made for all there are, before any are cut off. Where that is more work than
   * one caller may have of a thread that all share: the rule that the goggles break.
   */
  rerank<T>(results: readonly T[], subjectOf: (result: T) => Subject): Result<T[], string> {
    const step = Math.max(1, results.length / STEPS)
    const work = new MatchWork(this.#spent)
    const left = results
      .flatMap((result, at) => {
        const fate = this.fateOf(subjectOf(result), work)
        if (fate.kind === 'discarded') return []
        const moved = fate.kind === 'kept' ? 0 : step * fate.strength + TIE
        return [{ result, key: fate.kind === 'boosted' ? at - moved : at + moved }]
      })
      .sort((a, b) => a.key - b.key)
      .map(({ result }) => result)
    return work.isTooMuch ? no(TOO_MUCH_WORK) : ok(left)
  }
}

/** Without `www.`; empty when an address has none. */
function hostOf(address: string): string {
  const host = (URL.parse(address)?.hostname ?? '').toLowerCase()
  return host.startsWith('www.') ? host.slice('www.'.length) : host
}

function textsOf({ url, title, description, content }: Subject): Texts {
  return {
    url: (url.split('#')[0] ?? '').toLowerCase(),
    title: title.toLowerCase(),
    description: description.toLowerCase(),
    content: content.toLowerCase(),
  }
}
