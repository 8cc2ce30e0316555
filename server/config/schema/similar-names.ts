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
    const edits = distance(folded, other)
    if (edits <= max && (best === null || edits < best.edits)) best = { name: candidate, edits }
  }
  return best?.name ?? null
}

function fold(name: string): string {
  return name.toUpperCase().replaceAll('_', '').replace(/IES$/, 'Y').replace(/S$/, '')
}

/** Edits between two texts: letters inserted, removed, replaced, or swapped with the next one. */
function distance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1]
      const steps = [at(previous, j) + 1, at(row, j - 1) + 1, at(previous, j - 1) + (isSame ? 0 : 1)]
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) steps.push(at(before, j - 2) + 1)
      row.push(Math.min(...steps))
    }
    before = previous
    previous = row
  }
  return at(previous, b.length)
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Number.POSITIVE_INFINITY
}
