import { stemmer } from 'stemmer'

/** A word of a question, as written and as compared. */
export interface SearchTerm {
  /** Lower case. */
  readonly word: string
  /** Without accents and, of an English word, without its ending. */
  readonly stem: string
  /** Two words of the question joined: "typed array" is often "TypedArray". A match helps; a missing one does not hurt. */
  readonly isJoined?: true
}

/** More words than this do not improve the results, and each one costs time. */
const MAX_TERMS = 24
const STOP_WORDS = new Set(
  `a about an and any are as at be been being but by can could did do does doing for from get had has have having how i if
  in into is it its me my of on or our shall should so some such than that the their them then there these they this those
  to us use using was we were what when where which who whom why will with would you your`.split(/\s+/),
)
/** A full-text index's tokenizer sees words the same way: runs of letters and digits. */
const WORD = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu

/**
 * The distinct significant words of a question. Words such as "the" are left out unless there are no others. Empty if there are no
 * words at all.
 */
export function searchTerms(q: string): SearchTerm[] {
  const words = wordsOf(q).flatMap((word) => (isUnspaced(word) ? segmentsOf(word) : [word.toLowerCase()]))
  const telling = words.filter((word) => !STOP_WORDS.has(word))
  return [...new Set(telling.length > 0 ? telling : words)]
    .slice(0, MAX_TERMS)
    .map((word) => ({ word, stem: stemOf(folded(word)) }))
}

/** Scripts without spaces between words. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u
const SEGMENTER = new Intl.Segmenter('en', { granularity: 'word' })

/** Whether a word has letters of a script without spaces, and so may be a whole sentence. */
export function isUnspaced(word: string): boolean {
  return UNSPACED.test(word)
}

/** The words of a run of letters without spaces between them, by the dictionary of the platform. */
export function segmentsOf(run: string): string[] {
  return [...SEGMENTER.segment(run)].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment.toLowerCase())
}

/** Each pair of adjacent words of a question, joined into one. */
export function joinedTerms(terms: readonly SearchTerm[]): SearchTerm[] {
  return terms.slice(1).flatMap(({ word }, at): SearchTerm[] => {
    const joined = `${terms[at]?.word ?? ''}${word}`
    return isUnspaced(joined) ? [] : [{ word: joined, stem: stemOf(folded(joined)), isJoined: true }]
  })
}

/** The words of a text, unchanged. */
export function wordsOf(text: string): string[] {
  return text.toWellFormed().match(WORD) ?? []
}

/** Positions in a text of words with the question's stems, by term, in characters from its start. */
export type Positions = readonly (readonly number[])[]

/** Finds a question's words in texts; made once for a question. */
export class TermFinder {
  readonly terms: readonly SearchTerm[]
  private readonly starts: readonly string[]

  constructor(terms: readonly SearchTerm[]) {
    // An ending may change the last letter of an English stem: "query" and "queries" both begin with "quer".
    this.terms = terms
    this.starts = terms.map(({ stem }) => (/^[a-z]{4,}$/.test(stem) ? stem.slice(0, -1) : stem))
  }

  positions(text: string): Positions {
    if (text === '') return this.terms.map(() => [])
    const plain = folded(text)
    return this.terms.map(({ stem }, term) => {
      const start = this.starts[term] ?? stem
      const found: number[] = []
      if (start === '') return found
      for (let at = plain.indexOf(start); at !== -1; at = plain.indexOf(start, at + 1)) {
        if (isUnspaced(start)) {
          found.push(at)
          continue
        }
        if (at > 0 && isWordCharacter(plain, at - 1)) continue
        let end = at + start.length
        while (end < plain.length && isWordCharacter(plain, end)) end++
        if (stemOf(plain.slice(at, end)) === stem) found.push(at)
      }
      return found
    })
  }
}

function isWordCharacter(text: string, at: number): boolean {
  const code = text.charCodeAt(at)
  if (code < 128) return (code >= 97 && code <= 122) || (code >= 48 && code <= 57)
  // A surrogate counts as part of a word: it is never a space.
  return /[\p{L}\p{N}\p{Cs}]/u.test(text.charAt(at))
}

const STEMS = new Map<string, string>()
const MAX_STEMS = 50_000

/** The stem of a folded word, as the full-text index's Porter tokenizer makes it. */
function stemOf(word: string): string {
  const known = STEMS.get(word)
  if (known !== undefined) return known
  const stem = /^[a-z]+$/.test(word) ? stemmer(word) : word
  if (STEMS.size >= MAX_STEMS) STEMS.clear()
  STEMS.set(word, stem)
  return stem
}

/** Lower case, without accents. */
export function folded(text: string): string {
  const lower = text.toLowerCase()
  return isAscii(lower) ? lower : lower.normalize('NFKD').replaceAll(/\p{M}/gu, '')
}

function isAscii(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is what is meant.
  return !/[^\x00-\x7f]/.test(text)
}
