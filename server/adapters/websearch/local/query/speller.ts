import { editDistance } from '../../../../core/edit-distance'
import { folded, isUnspaced, wordsOf } from '../../passages/search-terms'

/** A word of the index and how many documents have it. */
export interface KnownWord {
  readonly word: string
  readonly documents: number
}

/** Returns how many documents have a word as spelled, and how many passages have its stem. */
export type Known = (word: string) => { readonly documents: number; readonly byStem: number }

/** Shorter words have too many similar words. */
const MIN_LETTERS = 4
/** In words of this length, up to two typos are corrected. */
const TWO_MISTAKES_LETTERS = 6
/** A word in this many documents is right, however many have a similar one. */
const ESTABLISHED = 3
/** A known word is a typo only if a similar one is in this many times as many documents. */
const FAR_MORE = 50

/** Corrects words to known ones: those with the smallest edit distance, and of these the most frequent. */
export class Speller {
  private readonly words: readonly KnownWord[]
  /** One bit per letter in a word. Words with a small edit distance differ in few bits. */
  private readonly letters: Int32Array
  private readonly minDocuments: number

  /** `minDocuments`: words in fewer documents are never suggested. */
  constructor(words: readonly KnownWord[], minDocuments: number) {
    this.words = words.filter(({ documents }) => documents >= minDocuments)
    this.letters = Int32Array.from(this.words, ({ word }) => letterBits(word))
    this.minDocuments = minDocuments
  }

  /** `q` with its misspelled words corrected; null if there is nothing to correct. */
  corrected(q: string, known: Known): string | null {
    const corrections = new Map<string, string>()
    for (const word of new Set(wordsOf(q).map((word) => word.toLowerCase()))) {
      const better = this.better(word, known)
      if (better !== null) corrections.set(word, better)
    }
    if (corrections.size === 0) return null
    return q.replaceAll(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu, (word) => {
      const better = corrections.get(word.toLowerCase())
      return better === undefined ? word : sameCase(better, word)
    })
  }

  private better(word: string, known: Known): string | null {
    if (word.length < MIN_LETTERS || !/^\p{L}+$/u.test(word) || isUnspaced(word)) return null
    const { documents, byStem } = known(word)
    if (documents >= ESTABLISHED || byStem >= ESTABLISHED * 2) return null
    const isKnown = documents > 0 || byStem > 0
    if (isKnown && word.length < TWO_MISTAKES_LETTERS) return null
    const found = this.nearest(word, !isKnown && word.length >= TWO_MISTAKES_LETTERS ? 2 : 1)
    if (!found || found.word === word) return null
    if (isKnown && found.documents < Math.max(documents, byStem) * FAR_MORE) return null
    return found.documents >= this.minDocuments ? found.word : null
  }

  private nearest(word: string, max: number): KnownWord | null {
    const bits = letterBits(word)
    const plain = folded(word)
    let best: { word: KnownWord; cost: number } | null = null
    for (const [at, candidate] of this.words.entries()) {
      if (Math.abs(candidate.word.length - word.length) > max) continue
      if (ones((this.letters[at] ?? 0) ^ bits) > 2 * max) continue
      const distance = editDistance(plain, folded(candidate.word), max)
      if (distance > max) continue
      // Typos are rare in the first letter.
      const cost = distance + (plain[0] === candidate.word[0] ? 0 : 0.5)
      if (!best || cost < best.cost || (cost === best.cost && candidate.documents > best.word.documents))
        best = { word: candidate, cost }
    }
    return best?.word ?? null
  }
}

function sameCase(word: string, like: string): string {
  const first = like.slice(0, 1)
  return first === first.toLowerCase() ? word : word.slice(0, 1).toUpperCase() + word.slice(1)
}

function letterBits(word: string): number {
  let bits = 0
  for (const letter of folded(word)) bits |= 1 << ((letter.codePointAt(0) ?? 0) % 31)
  return bits
}

function ones(bits: number): number {
  let rest = bits
  let count = 0
  while (rest !== 0) {
    rest &= rest - 1
    count++
  }
  return count
}
