import { type GoggleLines, goggleLines } from './goggle'
import { buildWork } from './instruction-index'
import { RuleBook } from './rule-book'

/** Nanoseconds of a line that does nothing. */
const LINE_NS = 50

/** Builds the book of one goggle, as much at a time as its user has time for. */
export class BookBuilder {
  readonly #lines: GoggleLines
  readonly #book = new RuleBook()
  #isBuilt = false

  /** The goggle was judged before: one that cannot be read is a bug. */
  constructor(text: string) {
    this.#lines = goggleLines(text)
  }

  /** The book, when all of its goggle is in it. */
  get book(): RuleBook | null {
    return this.#isBuilt ? this.#book : null
  }

  /** Goes on until it is built, or has done as much work as it may. Gives the work it did, in nanoseconds, counted as it is for matching. */
  build(most: number): number {
    let done = 0
    while (!this.#isBuilt && done < most) {
      const next = this.#lines.next()
      if (!next.done) {
        done += next.value ? buildWork(next.value) : LINE_NS
        if (next.value) this.#book.add(next.value)
      } else if (next.value.ok) {
        this.#isBuilt = true
      } else {
        throw new Error(`a goggle that was not judged, line ${next.value.error.line}: ${next.value.error.rule}`)
      }
    }
    return done
  }
}
