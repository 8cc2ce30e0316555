import { type Instruction, isGenericDiscard } from './instruction'
import { InstructionIndex } from './instruction-index'

/** The instructions of a goggle, indexed for matching. */
export class RuleBook {
  private readonly bySite = new Map<string, InstructionIndex>()
  private readonly everywhere = new InstructionIndex()
  private hasGenericDiscard = false
  private hasContentTarget = false

  /** Whether results that no instruction matches are removed. */
  get discardsRest(): boolean {
    return this.hasGenericDiscard
  }

  /** Whether matching needs the content of pages. */
  get looksAtContent(): boolean {
    return this.hasContentTarget
  }

  add(instruction: Instruction): void {
    if (instruction.target === 'content') this.hasContentTarget = true
    if (isGenericDiscard(instruction)) this.hasGenericDiscard = true
    else this.indexOf(instruction.site).add(instruction)
  }

  /** The rules for a host: those of its domain and parent domains, and those without a site. */
  rulesOf(host: string): InstructionIndex[] {
    const found: InstructionIndex[] = []
    for (let domain = this.bySite.size > 0 ? host : ''; domain !== ''; domain = parentOf(domain)) {
      const rules = this.bySite.get(domain)
      if (rules) found.push(rules)
    }
    return [...found, this.everywhere]
  }

  private indexOf(site: string | null): InstructionIndex {
    if (site === null) return this.everywhere
    const index = this.bySite.get(site) ?? new InstructionIndex()
    this.bySite.set(site, index)
    return index
  }
}

function parentOf(domain: string): string {
  const dot = domain.indexOf('.')
  return dot < 0 ? '' : domain.slice(dot + 1)
}
