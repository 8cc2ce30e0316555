import type { KeyOwner } from '../../core/accounts/keys'
import { onlyOf } from '../../core/accounts/roles'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import { KEY_SIZES, KEY_STATUSES } from '../../core/credentials/api-key'
import type { KeyQuery } from '../../core/credentials/key-lists'
import type { CredentialStore } from '../../core/credentials/store'
import { PAGE_QUERY, refuseCursor } from '../middleware/input/list-query'
import { tagOf } from './record'

/** The query of the key list (spec D3). Search and sort apply to all keys, not only to the page. */
export const KEY_QUERY = {
  status: {
    in: 'query',
    kind: 'enum',
    values: KEY_STATUSES,
    description: 'Only keys with this status. Revoked keys are listed only with `revoked`.',
  },
  q: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: 64,
    description: 'Only keys whose name contains this text, in any letter case, or whose last four characters match it.',
    example: 'first',
  },
  tag: {
    in: 'query',
    kind: 'text',
    min: 1,
    max: KEY_SIZES.tag,
    description: 'Only keys with this tag.',
    example: 'production',
  },
  sort: {
    in: 'query',
    kind: 'enum',
    values: ['created', 'name', 'status', 'spent', 'last_used'],
    default: 'created',
    description: 'The sort key.',
  },
  order: { in: 'query', kind: 'enum', values: ['desc', 'asc'], default: 'desc', description: 'The sort order.' },
} as const satisfies ParameterTable

export const KEY_LIST_QUERY = { ...PAGE_QUERY, ...KEY_QUERY } as const satisfies ParameterTable

/** One page of an account's keys, with counts per status over all keys that match the search, and the tags of all keys. */
export async function keyPage(
  { accountId, member }: Pick<KeyOwner, 'accountId' | 'member'>,
  { limit, cursor, ...query }: Parameters<typeof KEY_LIST_QUERY>,
  { lists }: Pick<CredentialStore, 'lists'>,
  now: number,
) {
  const asked = keyQuery(query)
  const seen = lists.seenBy(onlyOf(member))
  const [page, summary] = await Promise.all([
    seen.page(accountId, asked, now, { limit, after: cursor ?? null }),
    seen.summary(accountId, asked, now),
  ])
  if (!page) throw refuseCursor(cursor ?? '')
  return { ...page, ...summary }
}

export function keyQuery({ status, tag, ...query }: Parameters<typeof KEY_QUERY>): KeyQuery {
  return { ...query, among: status ?? 'live', tag: tag === undefined ? undefined : tagOf(tag) }
}
