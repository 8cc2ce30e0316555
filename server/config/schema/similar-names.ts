import { editDistance } from '../../core/edit-distance'

/** A mistyped name differs this much at most; short names have many unrelated neighbours. */
const MAX_EDITS = { short: 1, long: 2 }
const LONG = 12
const MIN_LENGTH = 6

/** The name of `known` that `name` probably means: without underscores and plurals, it differs by a letter or two. Null if none. */
export function similarName(name: string, known: Iterable<string>): string | null {
  const folded = fold(name)
  const max = folded.length >= LONG ? MAX_EDITS.long : MAX_EDITS.short
  let best: { readonly name: string; readonly edits: number } | null = null
  for (const candidate of known) {
    const other = fold(candidate)
    if (other.length < MIN_LENGTH || other[0] !== folded[0] || Math.abs(other.length - folded.length) > max) continue
    const edits = editDistance(folded, other, max)
    if (edits <= max && (best === null || edits < best.edits)) best = { name: candidate, edits }
  }
  return best?.name ?? null
}

function fold(name: string): string {
  return name.toUpperCase().replaceAll('_', '').replace(/IES$/, 'Y').replace(/S$/, '')
}
