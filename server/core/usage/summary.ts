import type { UsageFigures, UsageGroup } from './reports'
import { added, NO_USAGE, type UsageSums } from './sums'

export interface UsageBucket extends UsageSums {
  readonly from: number
  readonly to: number
}

export interface UsageSummary {
  readonly totals: UsageSums
  readonly buckets: readonly UsageBucket[]
  readonly groups: readonly UsageGroup[]
}

/** Adds times to the buckets, cuts the first and last one to the range, and sorts the groups by spend. */
export function summarize(
  figures: Pick<UsageFigures, 'buckets' | 'groups'>,
  edges: readonly number[],
  range: { readonly from: number; readonly to: number },
): UsageSummary {
  return {
    totals: figures.buckets.reduce(added, NO_USAGE),
    buckets: figures.buckets.map((sum, i) => ({
      ...sum,
      from: Math.max(edges[i] ?? range.from, range.from),
      to: Math.min(edges[i + 1] ?? range.to, range.to),
    })),
    groups: [...figures.groups].sort(
      (a, b) => b.charged - a.charged || b.requests - a.requests || (a.name < b.name ? -1 : 1),
    ),
  }
}
