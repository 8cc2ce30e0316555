import { getLocalItem, setLocalItem } from '../browser/local-storage.ts'

/** `--series-1` and so on. */
const COLORS = 9
const STORAGE_KEY = 'chart-colors'
/** The oldest go first. */
const MAX_KEPT = 200

/** The color of each series, by its name; null for the one that combines all others. A name keeps its color on every chart and visit. */
export function seriesColors(names: readonly (string | null)[]): readonly string[] {
  const kept = keptColors()
  const taken = new Set<number>()
  const colors = names.map((name) => {
    if (name === null) return 'var(--series-other)'
    const own = kept.get(name) ?? leastUsed(kept, taken)
    if (!kept.has(name)) kept.set(name, own)
    // Two names with one color that meet on a chart: the smaller one differs there.
    const shown = taken.has(own) ? leastUsed(kept, taken) : own
    taken.add(shown)
    return `var(--series-${shown})`
  })
  setLocalItem(STORAGE_KEY, JSON.stringify([...kept].slice(-MAX_KEPT)))
  return colors
}

/** The color that the fewest names have, of those that are not on the chart. */
function leastUsed(kept: ReadonlyMap<string, number>, taken: ReadonlySet<number>): number {
  const used = [...kept.values()]
  const free = Array.from({ length: COLORS }, (_, at) => at + 1).filter((color) => !taken.has(color))
  const count = (color: number) => used.filter((one) => one === color).length
  return free.toSorted((one, other) => count(one) - count(other))[0] ?? 1
}

function keptColors(): Map<string, number> {
  try {
    const stored: unknown = JSON.parse(getLocalItem(STORAGE_KEY) ?? '[]')
    const isPair = (pair: unknown): pair is [string, number] =>
      Array.isArray(pair) &&
      typeof pair[0] === 'string' &&
      Number.isInteger(pair[1]) &&
      pair[1] >= 1 &&
      pair[1] <= COLORS
    return new Map(Array.isArray(stored) ? stored.filter(isPair) : [])
  } catch {
    return new Map()
  }
}
