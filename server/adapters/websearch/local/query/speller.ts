import { folded, isUnspaced, wordsOf } from '../../passages/search-terms'

/** A word of the index and how many documents have it. */
export interface KnownWord {
  readonly word: string
  readonly documents: number
}

/** What the index knows of the words of a question: in how many documents they stand as spelled, and by their stems. */
export type Known = (word: string) => { readonly documents: number; readonly byStem: number }

/** Shorter words have too many neighbours. */
const MIN_LETTERS = 4
/** From here on, two mistakes are looked for as well. */
const TWO_MISTAKES_LETTERS = 6
/** A word that stands in this many documents is right, whatever stands in more. */
const ESTABLISHED = 3
/** A word that stands somewhere is a mistake only if its neighbour stands in this many times the documents. */
const FAR_MORE = 50

/** Corrects words by those that an index knows: the fewest mistakes away, and of those the most frequent. */
export class Speller {
  private readonly words: readonly KnownWord[]
  /** A bit for each letter a word has: two words a few mistakes apart differ in a few bits. */
  private readonly letters: Int32Array
  private readonly least: number

  /** `least`: words that stand in fewer documents are proposed to nobody. */
  constructor(words: readonly KnownWord[], least: number) {
    this.words = words.filter(({ documents }) => documents >= least)
    this.letters = Int32Array.from(this.words, ({ word }) => letterBits(word))
    this.least = least
  }

  /** `q` with its misspelled words corrected; null when there is nothing to correct. */
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
    return found.documents >= this.least ? found.word : null
  }

  private nearest(word: string, max: number): KnownWord | null {
    const bits = letterBits(word)
    const plain = folded(word)
    let best: { word: KnownWord; cost: number } | null = null
    for (const [at, candidate] of this.words.entries()) {
      if (Math.abs(candidate.word.length - word.length) > max) continue
      if (ones((this.letters[at] ?? 0) ^ bits) > 2 * max) continue
      const distance = mistakes(plain, folded(candidate.word), max)
      if (distance > max) continue
      // The first letter is seldom wrong.
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

/** The edit distance (insertions, deletions, changes, adjacent swaps) of two words; above `most`, any larger number. */
function mistakes(a: string, b: string, max: number): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1
      let least = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + same)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (before[j - 2] ?? 0) + 1)
      row.push(least)
    }
    if (Math.min(...row) > max) return max + 1
    before = last
    last = row
  }
  return last[b.length] ?? max + 1
}
