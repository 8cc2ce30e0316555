import { type Instruction, isGenericDiscard } from './instruction'
import { InstructionIndex } from './instruction-index'

/** The instructions of one goggle, by what they can match. */
export class RuleBook {
  readonly #bySite = new Map<string, InstructionIndex>()
  readonly #everywhere = new InstructionIndex()
  #discardsRest = false
  #looksAtContent = false

  /** Whether what no instruction matches is removed. */
  get discardsRest(): boolean {
    return this.#discardsRest
  }

  /** Whether it can only judge who has the text of a page. */
  get looksAtContent(): boolean {
    return this.#looksAtContent
  }

  add(instruction: Instruction): void {
    if (instruction.target === 'content') this.#looksAtContent = true
    if (isGenericDiscard(instruction)) this.#discardsRest = true
    else this.#indexOf(instruction.site).add(instruction)
  }

  /** The rules that name a host or a domain above it, and those that name none. */
  rulesOf(host: string): InstructionIndex[] {
    const found: InstructionIndex[] = []
    for (let domain = this.#bySite.size > 0 ? host : ''; domain !== ''; domain = above(domain)) {
      const rules = this.#bySite.get(domain)
      if (rules) found.push(rules)
    }
    return [...found, this.#everywhere]
  }

  #indexOf(site: string | null): InstructionIndex {
    if (site === null) return this.#everywhere
    const index = this.#bySite.get(site) ?? new InstructionIndex()
    this.#bySite.set(site, index)
    return index
  }
}

function above(domain: string): string {
  const dot = domain.indexOf('.')
  return dot < 0 ? '' : domain.slice(dot + 1)
}
