import { parseGoggle } from '../../../core/goggles/goggle'
import { RuleBook } from '../../../core/goggles/rule-book'

/** Characters of goggles whose rules are kept ready: a large one takes a tenth of a second to read. */
const MAX_KEPT_CHARACTERS = 6_000_000

/** Rules by the texts they were read from; the least recently used go first. For one thread. */
export class RuleBooks {
  readonly #kept = new Map<string, RuleBook>()
  #characters = 0

  /** The rules of all texts together. They were judged before: one that cannot be read is a bug. */
  of(texts: readonly string[]): RuleBook {
    const name = texts.join('\n\u0000\n')
    const kept = this.#kept.get(name)
    if (kept) {
      this.#kept.delete(name)
      this.#kept.set(name, kept)
      return kept
    }
    const book = new RuleBook(texts.map(read))
    this.#kept.set(name, book)
    this.#characters += name.length
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= MAX_KEPT_CHARACTERS) break
      this.#kept.delete(oldest)
      this.#characters -= oldest.length
    }
    return book
  }
}

function read(text: string) {
  const parsed = parseGoggle(text)
  if (!parsed.ok) throw new Error(`a goggle that was not judged, line ${parsed.error.line}: ${parsed.error.rule}`)
  return parsed.value
}
