import { folded, type SearchTerm, wordsOf } from '../../passages/search-terms'

/** The expression that matches what has every word. Nothing of the caller's is syntax in it. */
export function allOf(terms: readonly SearchTerm[]): string {
  return terms.length === 0 ? '""' : terms.map(quoted).join(' AND ')
}

/** The expression that matches what has at least one of the words; one that matches nothing when there are none. */
export function anyOf(terms: readonly SearchTerm[]): string {
  return terms.length === 0 ? '""' : terms.map(quoted).join(' OR ')
}

/** The expression that matches where another one does within the title and the headings alone. */
export function inTitleOrHeading(expression: string): string {
  return `{title heading} : (${expression})`
}

function quoted({ word }: SearchTerm): string {
  return `"${word.replaceAll('"', '""')}"`
}

/** How much two sets of words have in common, 0 to 1; 1 when each has what the other has. Words that begin alike count. */
export function likeness(terms: readonly SearchTerm[], text: string): number {
  const words = [...new Set(wordsOf(folded(text)))]
  const shared = words.filter((word) => terms.some((term) => isAlike(word, term.word))).length
  const all = words.length + terms.length - shared
  return all === 0 ? 0 : shared / all
}

function isAlike(word: string, term: string): boolean {
  return word === term || (term.length > 3 && word.startsWith(startOf(term)) && word.length <= term.length + 4)
}

function startOf(term: string): string {
  return term.length > 4 ? term.slice(0, Math.max(4, term.length - 2)) : term
}
