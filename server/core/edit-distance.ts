/**
 * The number of edits between two texts: letters inserted, removed, replaced, or swapped with the next one. Above `max` it may be any larger
 * number.
 */
export function editDistance(a: string, b: string, max = Number.POSITIVE_INFINITY): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = a[i - 1] === b[j - 1] ? 0 : 1
      let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + replaced)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, (before[j - 2] ?? 0) + 1)
      row.push(edits)
    }
    if (Math.min(...row) > max) return max + 1
    before = last
    last = row
  }
  return last[b.length] ?? max + 1
}
