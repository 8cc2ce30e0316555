import { no, ok, type Result } from '../result'
import type { Goggle } from './goggle'
import { isGenericDiscard } from './instruction'
import { InstructionIndex, Page, type Texts } from './instruction-index'
import { MatchWork, TOO_MUCH_WORK } from './match-work'

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

/** The instructions of all goggles of one request, judged together (facts/upstreams.md 3.5 to 3.9). */
export class RuleBook {
  readonly #bySite = new Map<string, InstructionIndex>()
  readonly #everywhere = new InstructionIndex()
  readonly #discardsRest: boolean
  /** Whether it can only judge who has the text of a page. */
  readonly looksAtContent: boolean

  constructor(goggles: readonly Goggle[]) {
    let discardsRest = false
    for (const { instructions } of goggles)
      for (const instruction of instructions) {
        if (isGenericDiscard(instruction)) discardsRest = true
        else this.#indexOf(instruction.site).add(instruction)
      }
    this.#discardsRest = discardsRest
    this.looksAtContent = goggles.some(({ instructions }) => instructions.some(({ target }) => target === 'content'))
  }

  /** What the one rule that wins says: a discard, else the strongest boost, else the weakest downrank, else the rest. */
  fateOf(subject: Subject, work = new MatchWork()): Fate {
    const page = new Page(textsOf(subject), work)
    let boost = 0
    let downrank = 0
    for (const index of [...this.#rulesOf(subject.url), this.#everywhere])
      for (const { action, strength } of index.matching(page)) {
        if (action === 'discard') return DISCARDED
        if (action === 'boost') boost = Math.max(boost, strength)
        else downrank = downrank === 0 ? strength : Math.min(downrank, strength)
      }
    if (boost > 0) return { kind: 'boosted', strength: boost }
    if (downrank > 0) return { kind: 'downranked', strength: downrank }
    return this.#discardsRest ? DISCARDED : KEPT
  }

  /**
   * The results that are left, in their new order. Made for all there are, before any are cut off. Where that is more work than
   * one caller may have of a thread that all share: the rule that the goggles break.
   */
  rerank<T>(results: readonly T[], subjectOf: (result: T) => Subject): Result<T[], string> {
    const step = Math.max(1, results.length / STEPS)
    const work = new MatchWork()
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

  #indexOf(site: string | null): InstructionIndex {
    if (site === null) return this.#everywhere
    const index = this.#bySite.get(site) ?? new InstructionIndex()
    this.#bySite.set(site, index)
    return index
  }

  /** The rules that name the host of an address, or a domain above it. */
  #rulesOf(address: string): InstructionIndex[] {
    if (this.#bySite.size === 0) return []
    const host = (URL.parse(address)?.hostname ?? '').toLowerCase()
    const bare = host.startsWith('www.') ? host.slice('www.'.length) : host
    const found: InstructionIndex[] = []
    for (let domain = bare; domain !== ''; domain = above(domain)) {
      const rules = this.#bySite.get(domain)
      if (rules) found.push(rules)
    }
    return found
  }
}

function above(domain: string): string {
  const dot = domain.indexOf('.')
  return dot < 0 ? '' : domain.slice(dot + 1)
}

function textsOf({ url, title, description, content }: Subject): Texts {
  return {
    url: (url.split('#')[0] ?? '').toLowerCase(),
    title: title.toLowerCase(),
    description: description.toLowerCase(),
    content: content.toLowerCase(),
  }
}
