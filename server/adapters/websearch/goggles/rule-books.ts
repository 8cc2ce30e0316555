import { MAX_WORK, TOO_MUCH_WORK } from '../../../core/goggles/match-work'
import { BookBuilder, type RuleBook } from '../../../core/goggles/rule-book'
import { RuleSet } from '../../../core/goggles/rule-set'
import { err, ok, type Result } from '../../../core/result'

/** A validated goggle of a call. */
export interface GoggleText {
  readonly text: string
  /** Whether it was fetched from a URL; otherwise it is inline in the request. */
  readonly isHosted: boolean
}

/** The size of the cache in characters of hosted goggles: three of the largest, as many as one call may have. */
const MAX_KEPT_CHARACTERS = 6_000_000
/** The time that one slice spends on building cached books: half of what matching may take. */
const SLICE_NS = MAX_WORK / 2

/**
 * Compiled goggles ("books") of one thread. The book of a hosted goggle is built in slices and cached (least recently used). The book
 * of an inline goggle is built for each call and counts as the call's work.
 */
export class RuleBooks {
  private readonly builders = new Map<string, BookBuilder>()
  private characters = 0

  /** The books of a call; null if building needs another slice; or the rule that the goggles break. */
  of(goggles: readonly GoggleText[]): Result<RuleSet | null, string> {
    const hosted = this.hosted(goggles.filter(({ isHosted }) => isHosted))
    if (hosted === null) return ok(null)
    const books = [...hosted]
    let spent = 0
    for (const { text, isHosted } of goggles) {
      if (isHosted) continue
      const builder = new BookBuilder(text)
      spent += builder.build(MAX_WORK - spent)
      if (builder.book === null) return err(TOO_MUCH_WORK)
      books.push(builder.book)
    }
    return ok(new RuleSet(books, spent))
  }

  private hosted(goggles: readonly GoggleText[]): RuleBook[] | null {
    const builders = goggles.map(({ text }) => this.builderOf(text))
    let left = SLICE_NS
    for (const builder of builders) left -= builder.build(left)
    const books = builders.flatMap(({ book }) => book ?? [])
    return books.length === builders.length ? books : null
  }

  private builderOf(text: string): BookBuilder {
    const cached = this.builders.get(text)
    const builder = cached ?? new BookBuilder(text)
    if (cached) this.builders.delete(text)
    else this.characters += text.length
    this.builders.set(text, builder)
    for (const oldest of this.builders.keys()) {
      if (this.characters <= MAX_KEPT_CHARACTERS) break
      this.builders.delete(oldest)
      this.characters -= oldest.length
    }
    return builder
  }
}
