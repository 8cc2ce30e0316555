import { type GoggleLines, goggleLines } from './goggle'
import { type Instruction, isGenericDiscard } from './instruction'
import { buildWork, InstructionIndex } from './instruction-index'

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

/** The cost of a line without an instruction, in nanoseconds. */
const LINE_NS = 50

/** Builds the rule book of a goggle in steps of limited work. */
export class BookBuilder {
  private readonly lines: GoggleLines
  private readonly building = new RuleBook()
  private isBuilt = false

  /** The goggle must be valid. */
  constructor(text: string) {
    this.lines = goggleLines(text)
  }

  /** The rule book; null until it is complete. */
  get book(): RuleBook | null {
    return this.isBuilt ? this.building : null
  }

  /** Continues until the book is complete or `maxWork` is used up. Returns the work done, in nanoseconds as in `MatchWork`. */
  build(maxWork: number): number {
    let done = 0
    while (!this.isBuilt && done < maxWork) {
      const next = this.lines.next()
      if (!next.done) {
        done += next.value ? buildWork(next.value) : LINE_NS
        if (next.value) this.building.add(next.value)
      } else if (next.value.ok) {
        this.isBuilt = true
      } else {
        throw new Error(`invalid goggle, line ${next.value.error.line}: ${next.value.error.rule}`)
      }
    }
    return done
  }
}
