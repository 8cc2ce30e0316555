import { plus, ZERO } from '../money'
import { type BucketWidth, boundaries } from './calendar'
import type { UsageCell, UsageGrouping, UsageSums } from './reports'

export interface UsageBucket extends UsageSums {
  readonly from: number
  readonly to: number
}

export interface UsageSummary {
  readonly totals: UsageSums
  readonly buckets: readonly UsageBucket[]
  readonly groups: readonly (UsageSums & { readonly name: string })[]
}

const NOTHING: UsageSums = {
  requests: 0,
  failedRequests: 0,
  inputTokens: 0,
  outputTokens: 0,
  cacheReadTokens: 0,
  cacheWriteTokens: 0,
  charged: ZERO,
}

/** Sums cells into the hours or days of a time zone, the first and last cut to the asked range, and into groups by spend. */
export function summarise(
  cells: readonly UsageCell[],
  range: { from: number; to: number; width: BucketWidth; timezone: string },
  grouping: UsageGrouping | null,
): UsageSummary {
  const edges = boundaries(range.from, range.to, range.width, range.timezone)
  const sums: UsageSums[] = edges.slice(1).map(() => NOTHING)
  const groups = new Map<string, UsageSums>()
  let totals = NOTHING
  for (const cell of cells) {
    totals = added(totals, cell)
    const place = lastAtOrBefore(edges, Math.max(cell.at, range.from))
    const sum = sums[place]
    if (sum) sums[place] = added(sum, cell)
    if (!grouping) continue
    const name = groupName(cell, grouping)
    groups.set(name, added(groups.get(name) ?? NOTHING, cell))
  }
  return {
    totals,
    buckets: sums.map((sum, i) => ({
      ...sum,
      from: Math.max(edges[i] ?? range.from, range.from),
      to: Math.min(edges[i + 1] ?? range.to, range.to),
    })),
    groups: [...groups]
      .map(([name, sum]) => ({ name, ...sum }))
      .sort((a, b) => b.charged - a.charged || b.requests - a.requests),
  }
}

function groupName(cell: UsageCell, grouping: UsageGrouping): string {
  switch (grouping) {
    case 'key':
      return cell.keyId
    case 'operation':
      return cell.operation
    case 'status':
      return String(cell.status)
    case 'model':
      return ''
  }
}

function added(a: UsageSums, b: UsageSums): UsageSums {
  return {
    requests: a.requests + b.requests,
    failedRequests: a.failedRequests + b.failedRequests,
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cacheReadTokens: a.cacheReadTokens + b.cacheReadTokens,
    cacheWriteTokens: a.cacheWriteTokens + b.cacheWriteTokens,
    charged: plus(a.charged, b.charged),
  }
}

function lastAtOrBefore(edges: readonly number[], at: number): number {
  let low = 0
  let high = edges.length - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((edges[middle] ?? 0) <= at) low = middle
    else high = middle - 1
  }
  return low
}
