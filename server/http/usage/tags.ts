import type { ApiKey } from '../../core/credentials/api-key'
import type { UsageReport } from './record'

type Group = NonNullable<UsageReport['groups']>[number]

/**
 * A report by key as one by tag, as the keys have them now. A key with several tags counts in each of their groups; what has none, such as
 * an app, in the group without a name.
 */
export function groupedByTag(report: UsageReport, keys: readonly ApiKey[]): UsageReport {
  const tags = new Map<string | null, readonly string[]>(keys.map((key) => [key.id, key.tags]))
  const groups = new Map<string, Group>()
  for (const group of report.groups ?? []) {
    const own = tags.get(group.name) ?? []
    for (const name of own.length === 0 ? [''] : own) {
      const sums = groups.get(name)
      groups.set(name, { ...(sums ? added(sums, group) : group), group_by: 'tag', name })
    }
  }
  const largestFirst = (one: Group, other: Group) =>
    other.charged_micros_usd - one.charged_micros_usd || other.requests - one.requests
  return { ...report, groups: [...groups.values()].sort(largestFirst) }
}

function added(one: Group, other: Group): Group {
  return {
    ...one,
    requests: one.requests + other.requests,
    failed_requests: one.failed_requests + other.failed_requests,
    input_tokens: one.input_tokens + other.input_tokens,
    output_tokens: one.output_tokens + other.output_tokens,
    cache_read_tokens: one.cache_read_tokens + other.cache_read_tokens,
    cache_write_tokens: one.cache_write_tokens + other.cache_write_tokens,
    charged_micros_usd: one.charged_micros_usd + other.charged_micros_usd,
  }
}
