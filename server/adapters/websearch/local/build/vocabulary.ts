import { isUnspaced, wordsOf } from '../../passages/search-terms'

/** Words that can be misspelled: letters, enough of them, and no more than a word has. */
const SPELLABLE = /^\p{L}{3,24}$/u

/** The different words of a text that a speller knows, in lower case. */
export function spellableWords(text: string): Set<string> {
  const words = new Set<string>()
  for (const word of wordsOf(text)) if (SPELLABLE.test(word) && !isUnspaced(word)) words.add(word.toLowerCase())
  return words
}

/** How the vocabulary of an index changes while documents and images are written and removed. */
export class VocabularyChange {
  private readonly changes = new Map<string, { documents: number; images: number }>()

  /** Counts each word once: `by` is positive for what is written and as much negative for what is removed. */
  count(kind: 'documents' | 'images', words: Iterable<string>, by: number): void {
    for (const word of words) {
      const change = this.changes.get(word)
      if (change) change[kind] += by
      else this.changes.set(word, { documents: 0, images: 0, [kind]: by })
    }
  }

  /** `[word, documents, images]` of every word whose counts change. */
  rows(): (readonly [string, number, number])[] {
    return [...this.changes]
      .filter(([, { documents, images }]) => documents !== 0 || images !== 0)
      .map(([word, { documents, images }]) => [word, documents, images])
  }
}

/** How often a document counts: what an operator wrote is right, however seldom it stands anywhere else. */
export function wordWeight(source: number): number {
  return source === 0 ? 1 : 3
}
