import { type GoggleLines, goggleLines } from './goggle'
import { buildWork } from './instruction-index'
import { RuleBook } from './rule-book'

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
