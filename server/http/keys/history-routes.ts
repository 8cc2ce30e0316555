import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { KeyOwner, Keys } from '../../core/accounts/keys'
import { onlyOf } from '../../core/accounts/roles'
import type { AuditTrail } from '../../core/audit'
import type { ApiKey } from '../../core/credentials/api-key'
import type { KeyQuery } from '../../core/credentials/key-lists'
import type { CredentialStore } from '../../core/credentials/store'
import type { Ledger } from '../../core/ledger/ledger'
import type { Page } from '../../core/page'
import { callersOf } from '../middleware/caller/callers'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { csvStream } from '../middleware/response/csv'
import { notFound } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { allowed, type Id, signedIn } from '../routing/api-access'
import { costing, EXPORT, page } from '../routing/cost'
import { KEY_DOCS } from './docs'
import { historyEntry, type KeyHistory, type KeyNames } from './key-history'
import { KEY_QUERY, keyQuery } from './key-list'
import { csvOfKey, KEYS_CSV_HEAD } from './keys-csv'
import { type KeyRecordParts, keyRecord } from './record'

/** Keys of the file whose records are in memory together. */
const KEYS_AT_ONCE = 200

/** An owner's keys as a file, and the names and the history of all of them, including revoked ones. */
export function keyRecordRoutes(parts: {
  owners: OwnerSessions
  keys: Keys
  credentials: CredentialStore
  ledger: Ledger
  apps: Pick<AppGrantStore, 'byAccount' | 'byId'>
  audit: AuditTrail
  now: () => number
}) {
  const { owners, keys, audit, now } = parts
  return routeGroup({ name: 'key-records', prefix: '/api' })
    .get(
      '/keys.csv',
      ...allowed(
        signedIn(owners, 'keys:read'),
        costing(EXPORT, documented(KEY_DOCS.csv, KEY_QUERY)),
        async ({ owner, context }) => {
          const query = keyQuery(queryOf(KEY_QUERY, context))
          return csvStream(context, 'keys.csv', KEYS_CSV_HEAD, csvLinesOf(owner, query, { ...parts, now: now() }))
        },
      ),
    )
    .get(
      '/keys/names',
      ...allowed(
        signedIn(owners, 'keys:read'),
        costing(page, documented(KEY_DOCS.names)),
        async ({ owner }): Promise<KeyNames> => {
          const callers = await callersOf(owner, parts)
          return { names: callers.map(({ endedAt, ...caller }) => ({ ...caller, revoked: endedAt !== null })) }
        },
      ),
    )
    .get(
      '/keys/:id/history',
      ...allowed(
        signedIn(owners, 'keys:read'),
        costing(page, documented(KEY_DOCS.history, PAGE_QUERY)),
        async ({ owner, accountId, context }, { id }: Id): Promise<KeyHistory> => {
          const query = queryOf(PAGE_QUERY, context)
          const key = await keys.find(owner, id)
          if (!key) throw notFound('This key does not exist.')
          const page = await audit.ofKey(accountId, key.id, query.limit, query.cursor ?? null)
          if (!page) throw refuseCursor(query.cursor ?? '')
          return { history: page.rows.map(historyEntry), next_cursor: page.next }
        },
      ),
    )
}

/** Many at a time: what is asked for at the same time is looked up together. */
async function* csvLinesOf(
  { accountId, member }: KeyOwner,
  query: KeyQuery,
  parts: KeyRecordParts & { readonly now: number },
) {
  const lists = parts.credentials.lists.seenBy(onlyOf(member))
  let after: string | null = null
  do {
    const page: Page<ApiKey> | null = await lists.page(accountId, query, parts.now, {
      limit: KEYS_AT_ONCE,
      after,
    })
    const records = await Promise.all((page?.rows ?? []).map((key) => keyRecord(key, parts)))
    yield* records.map(csvOfKey)
    after = page?.next ?? null
  } while (after !== null)
}
