import type { ParameterTable } from '../../core/catalog/parameters'
import {
  type ApiKey,
  KEY_SIZES,
  KEY_STATUSES,
  type KeyStatus,
  keyState,
  keyStatus,
  type SpendPool,
} from '../../core/credentials/api-key'
import type { AccountId } from '../../core/ids'
import { PAGE_QUERY, refuseCursor } from '../middleware/input/list-query'
import { type KeyRecordParts, tagOf } from './record'

const MAX_LISTED_TAGS = 200

/** The query of the key list (spec-answers 3). Search and sort apply to all keys, not only to the page. */
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

interface ListedKey {
  readonly key: ApiKey
  readonly pool: SpendPool
  readonly status: KeyStatus
  readonly lastUsedAt: number | null
}

interface PageOptions {
  readonly limit: number
  readonly cursor?: string
}

export interface KeyListOptions {
  readonly status?: KeyStatus
  readonly q?: string
  readonly tag?: string
  readonly sort: 'created' | 'name' | 'status' | 'spent' | 'last_used'
  readonly order: 'asc' | 'desc'
}

type ListParts = Pick<KeyRecordParts, 'credentials' | 'ledger'> & { readonly now: number }

/** One page of an account's keys, with counts per status over all keys that match the search, and the tags of all keys. */
export async function keyPage(accountId: AccountId, options: KeyListOptions & PageOptions, parts: ListParts) {
  const own = await parts.credentials.byAccount(accountId)
  const { keys: listed, counts } = await keysOf(own, options, parts)
  const start = options.cursor === undefined ? 0 : listed.findIndex(({ id }) => id === options.cursor) + 1
  if (options.cursor !== undefined && start === 0) throw refuseCursor(options.cursor)
  const keys = listed.slice(start, start + options.limit)
  const next = listed.length > start + options.limit ? (keys.at(-1)?.id ?? null) : null
  return { keys, next, counts, tags: tagsOf(own, parts.now) }
}

/** All of an account's keys that a query asks for, in its order. */
export async function allKeys(
  accountId: AccountId,
  options: KeyListOptions,
  parts: ListParts,
): Promise<readonly ApiKey[]> {
  return (await keysOf(await parts.credentials.byAccount(accountId), options, parts)).keys
}

async function keysOf(
  own: readonly ApiKey[],
  { status: wanted, sort, order, ...search }: KeyListOptions,
  parts: ListParts,
) {
  const found = own.filter((key) => matchesSearch(key, search))
  const listed = await Promise.all(found.map((key) => listedKey(key, parts)))
  const counts: Record<KeyStatus, number> = { active: 0, disabled: 0, expired: 0, exhausted: 0, revoked: 0 }
  for (const { status } of listed) counts[status]++
  const shown = listed.filter(({ status }) => (wanted ? status === wanted : status !== 'revoked'))
  const compare = ORDERS[sort]
  const direction = order === 'asc' ? 1 : -1
  // Ties are broken by id (creation order), so that pages do not overlap.
  shown.sort((one, other) => direction * (compare(one, other) || (one.key.id < other.key.id ? -1 : 1)))
  return { keys: shown.map(({ key }) => key), counts }
}

/** How many keys have each tag. */
function tagsOf(own: readonly ApiKey[], now: number): readonly { readonly name: string; readonly keys: number }[] {
  const counts = new Map<string, number>()
  for (const key of own)
    if (keyState(key, now) !== 'revoked') for (const tag of key.tags) counts.set(tag, (counts.get(tag) ?? 0) + 1)
  return [...counts]
    .map(([name, keys]) => ({ name, keys }))
    .sort((one, other) => other.keys - one.keys)
    .slice(0, MAX_LISTED_TAGS)
    .sort((one, other) => one.name.localeCompare(other.name, 'en'))
}

async function listedKey(key: ApiKey, { credentials, ledger, now }: ListParts): Promise<ListedKey> {
  const [pool, lastUsedAt] = await Promise.all([ledger.pool(key.poolId), credentials.lastUsedAt(key.id)])
  if (!pool) throw new Error(`key ${key.id} has no spend pool`)
  return { key, pool, status: keyStatus(key, pool, now), lastUsedAt }
}

function matchesSearch({ name, last4, tags }: ApiKey, { q, tag }: Pick<KeyListOptions, 'q' | 'tag'>): boolean {
  if (tag !== undefined && !tags.includes(tagOf(tag))) return false
  return q === undefined || last4 === q || name.toLowerCase().includes(q.toLowerCase())
}

type Comparison = (one: ListedKey, other: ListedKey) => number

const ORDERS: Record<KeyListOptions['sort'], Comparison> = {
  created: (one, other) => one.key.createdAt - other.key.createdAt,
  name: (one, other) => one.key.name.localeCompare(other.key.name, 'en'),
  status: (one, other) => KEY_STATUSES.indexOf(one.status) - KEY_STATUSES.indexOf(other.status),
  spent: (one, other) => one.pool.spent - other.pool.spent,
  last_used: (one, other) => (one.lastUsedAt ?? 0) - (other.lastUsedAt ?? 0),
}
