import { folded, type SearchTerm, wordsOf } from '../../passages/search-terms'

/** The FTS expression that matches all words. The words are quoted, so none is read as syntax. */
export function allOf(terms: readonly SearchTerm[]): string {
  return terms.length === 0 ? '""' : terms.map(quoted).join(' AND ')
}

/** The FTS expression that matches at least one of the words, or nothing if there are no words. */
export function anyOf(terms: readonly SearchTerm[]): string {
  return terms.length === 0 ? '""' : terms.map(quoted).join(' OR ')
}

/** Restricts an expression to titles and headings. */
export function inTitleOrHeading(expression: string): string {
  return `{title heading} : (${expression})`
}

function quoted({ word }: SearchTerm): string {
  return `"${word.replaceAll('"', '""')}"`
}

/** The similarity of two sets of words, 0 to 1. Words with the same beginning count as equal. */
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
