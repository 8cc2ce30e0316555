import { isUnspaced, wordsOf } from '../../passages/search-terms'

/** Words that can be misspelled: letters only, of a plausible length. */
const SPELLABLE = /^\p{L}{3,24}$/u

/** The distinct words of a text that the speller uses, in lower case. */
export function spellableWords(text: string): Set<string> {
  const words = new Set<string>()
  for (const word of wordsOf(text)) if (SPELLABLE.test(word) && !isUnspaced(word)) words.add(word.toLowerCase())
  return words
}

/** Collects the changes of an index's vocabulary while documents and images are written and removed. */
export class VocabularyChange {
  private readonly changes = new Map<string, { documents: number; images: number }>()

  /** Counts each word once. `by` is positive for a written text and negative for a removed one. */
  count(kind: 'documents' | 'images', words: Iterable<string>, by: number): void {
    for (const word of words) {
      const change = this.changes.get(word)
      if (change) change[kind] += by
      else this.changes.set(word, { documents: 0, images: 0, [kind]: by })
    }
  }

  /** `[word, documents, images]` of every word whose counts changed. */
  rows(): (readonly [string, number, number])[] {
    return [...this.changes]
      .filter(([, { documents, images }]) => documents !== 0 || images !== 0)
      .map(([word, { documents, images }]) => [word, documents, images])
  }
}

/** The weight of a document: words in the operator's own content count as right even if they are rare. */
export function wordWeight(source: number): number {
  return source === 0 ? 1 : 3
}
