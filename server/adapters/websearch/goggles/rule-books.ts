import { BookBuilder } from '../../../core/goggles/book-builder'
import { MAX_WORK, TOO_MUCH_WORK } from '../../../core/goggles/match-work'
import type { RuleBook } from '../../../core/goggles/rule-book'
import { RuleSet } from '../../../core/goggles/rule-set'
import { err, ok, type Result } from '../../../core/result'

/** A validated goggle of a call. */
export interface GoggleText {
  readonly text: string
  /** Whether it was fetched from a URL; otherwise it is inline in the request. */
  readonly isHosted: boolean
}

/** Characters of hosted goggles whose books are kept: three of the largest, as many as one call may have. */
const MAX_KEPT_CHARACTERS = 6_000_000
/** What of a thread one turn takes for books that are kept: half of what matching may take. */
const SLICE_NS = MAX_WORK / 2

/**
 * Books of goggles, for one thread. That of a hosted goggle is built a slice at a time and kept, the least recently used going
 * first. That of a goggle that stands in the request is built for the call, and counts as its work, however often it comes.
 */
export class RuleBooks {
  private readonly kept = new Map<string, BookBuilder>()
  private characters = 0

  /** The books of a call; null when there is more to build in another turn. Else the rule that the goggles break. */
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
    const kept = this.kept.get(text)
    const builder = kept ?? new BookBuilder(text)
    if (kept) this.kept.delete(text)
    else this.characters += text.length
    this.kept.set(text, builder)
    for (const oldest of this.kept.keys()) {
      if (this.characters <= MAX_KEPT_CHARACTERS) break
      this.kept.delete(oldest)
      this.characters -= oldest.length
    }
    return builder
  }
}
