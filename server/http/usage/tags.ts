import type { AppGrantStore } from '../../core/accounts/app-grant'
import { type KeyOwner, onlyOf } from '../../core/accounts/keys'
import type { ApiKey } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { KeyId } from '../../core/ids'
import type { CallRecord } from '../../core/usage/call-record'
import { tagOf } from '../keys/record'
import type { UsageReport } from './record'

/** Whose calls are read, and who reads: some members see only the calls of their own keys and apps. */
export type UsageReader = Pick<KeyOwner, 'accountId' | 'member'>

export interface SeenCalls {
  readonly credentials: Pick<CredentialStore, 'lists' | 'makersOf'>
  readonly apps: Pick<AppGrantStore, 'byAccount'>
}

type Group = NonNullable<UsageReport['groups']>[number]

/** The keys that the reader sees and that have a tag, revoked ones among them; without a tag the apps too. Null means all calls. */
export async function seenKeys(
  { credentials, apps }: SeenCalls,
  { accountId, member }: UsageReader,
  tag?: string,
): Promise<readonly KeyId[] | null> {
  const only = onlyOf(member)
  const lists = credentials.lists.seenBy(only)
  if (tag !== undefined) return lists.withTag(accountId, tagOf(tag))
  if (only === null) return null
  const [keys, own] = await Promise.all([lists.names(accountId), apps.byAccount(accountId, only)])
  // The log has the id of an app in the same place.
  return [...keys, ...own].map(({ id }) => id as KeyId)
}

/** Whether the reader sees this call of the account. */
export async function seesCall(
  parts: SeenCalls,
  reader: UsageReader,
  { keyId }: Pick<CallRecord, 'keyId'>,
): Promise<boolean> {
  const seen = await seenKeys(parts, reader)
  return seen === null || seen.some((id) => id === keyId)
}

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
