import type { ParameterTable } from '../../core/catalog/parameters'
import { type ApiKey, KEY_STATUSES, type KeyStatus, keyStatus, type SpendPool } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { AccountId } from '../../core/ids'
import type { Ledger } from '../../core/ledger/ledger'
import { PAGE_QUERY, refuseCursor } from '../middleware/list-query'

/** The query of the key list (spec-answers 3). Search and sort apply to all keys, not only to the page. */
export const KEY_LIST_QUERY = {
  ...PAGE_QUERY,
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
  sort: {
    in: 'query',
    kind: 'enum',
    values: ['created', 'name', 'status', 'spent', 'last_used'],
    default: 'created',
    description: 'The sort key.',
  },
  order: { in: 'query', kind: 'enum', values: ['desc', 'asc'], default: 'desc', description: 'The sort order.' },
} as const satisfies ParameterTable

interface ListedKey {
  readonly key: ApiKey
  readonly pool: SpendPool
  readonly status: KeyStatus
  readonly lastUsedAt: number | null
}

export interface KeyListOptions {
  readonly limit: number
  readonly cursor?: string
  readonly status?: KeyStatus
  readonly q?: string
  readonly sort: 'created' | 'name' | 'status' | 'spent' | 'last_used'
  readonly order: 'asc' | 'desc'
}

/** One page of an account's keys, with counts per status over all keys that match the search. */
export async function keyPage(
  accountId: AccountId,
  options: KeyListOptions,
  parts: { credentials: CredentialStore; ledger: Ledger; now: number },
): Promise<{ keys: readonly ApiKey[]; next: string | null; counts: Record<KeyStatus, number> }> {
  const found = (await parts.credentials.byAccount(accountId)).filter((key) => matchesSearch(key, options.q))
  const listed = await Promise.all(found.map((key) => listedKey(key, parts)))
  const counts: Record<KeyStatus, number> = { active: 0, disabled: 0, expired: 0, exhausted: 0, revoked: 0 }
  for (const { status } of listed) counts[status]++
  const shown = listed.filter(({ status }) => (options.status ? status === options.status : status !== 'revoked'))
  const compare = ORDERS[options.sort]
  const direction = options.order === 'asc' ? 1 : -1
  // Ties are broken by id (creation order), so that pages do not overlap.
  shown.sort((one, other) => direction * (compare(one, other) || (one.key.id < other.key.id ? -1 : 1)))
  const start = options.cursor === undefined ? 0 : shown.findIndex(({ key }) => key.id === options.cursor) + 1
  if (options.cursor !== undefined && start === 0) throw refuseCursor(options.cursor)
  const keys = shown.slice(start, start + options.limit).map(({ key }) => key)
  return { keys, next: shown.length > start + options.limit ? (keys.at(-1)?.id ?? null) : null, counts }
}

async function listedKey(
  key: ApiKey,
  { credentials, ledger, now }: { credentials: CredentialStore; ledger: Ledger; now: number },
): Promise<ListedKey> {
  const [pool, lastUsedAt] = await Promise.all([ledger.pool(key.poolId), credentials.lastUsedAt(key.id)])
  if (!pool) throw new Error(`key ${key.id} has no spend pool`)
  return { key, pool, status: keyStatus(key, pool, now), lastUsedAt }
}

function matchesSearch({ name, last4 }: ApiKey, q: string | undefined): boolean {
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
