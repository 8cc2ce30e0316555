/** A caller's words as FTS5 expressions, in which nothing of the caller's is syntax. */
export interface FullTextQuery {
  /** The words that are searched, in lower case, each once. At least one. */
  readonly terms: readonly string[]
  /** Matches what has every word. */
  readonly all: string
  /** Matches what has at least one. */
  readonly any: string
  /** Matches the words side by side, in order; null for a single word. */
  readonly phrase: string | null
}

/** More words than this say nothing more about what is looked for, and each one costs time. */
const MOST_TERMS = 24
const STOP_WORDS = new Set(
  `a about an and any are as at be been being but by can could did do does doing for from get had has have having how i if
  in into is it its me my of on or our shall should so some such than that the their them then there these they this those
  to us use using was we were what when where which who whom why will with would you your`.split(/\s+/),
)

/**
 * The words of `q` as the index's tokenizer sees them: runs of letters and digits. Null when there are none. Words such as
 * "the" are left out, unless nothing else is asked.
 */
export function fullTextQuery(q: string): FullTextQuery | null {
  const words = (q.toWellFormed().match(/[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu) ?? []).map((word) => word.toLowerCase())
  const telling = words.filter((word) => !STOP_WORDS.has(word))
  const terms = [...new Set(telling.length > 0 ? telling : words)].slice(0, MOST_TERMS)
  if (terms.length === 0) return null
  return {
    terms,
    all: terms.map(quoted).join(' AND '),
    any: anyOf(terms),
    phrase: terms.length > 1 ? quoted(terms.join(' ')) : null,
  }
}

/** The expression that matches what has at least one of the words; one that matches nothing when there are none. */
export function anyOf(terms: readonly string[]): string {
  return terms.length === 0 ? '""' : terms.map(quoted).join(' OR ')
}

function quoted(words: string): string {
  return `"${words.replaceAll('"', '""')}"`
}

/** How much two sets of words have in common, 0 to 1; 1 when each has what the other has. Words that begin alike count. */
export function likeness(terms: readonly string[], text: string): number {
  const words = wordsOf(text)
  const shared = words.filter((word) => terms.some((term) => isAlike(word, term))).length
  const all = words.length + terms.length - shared
  return all === 0 ? 0 : shared / all
}

function wordsOf(text: string): string[] {
  return [...new Set(text.toLowerCase().match(/[\p{L}\p{N}\p{M}]+/gu) ?? [])]
}

function isAlike(word: string, term: string): boolean {
  return word === term || (term.length > 3 && word.startsWith(stemOf(term)) && word.length <= term.length + 4)
}

function stemOf(term: string): string {
  return term.length > 4 ? term.slice(0, Math.max(4, term.length - 2)) : term
}
