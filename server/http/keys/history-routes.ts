import type { AppGrantStore } from '../../core/accounts/app-grant'
import type { Keys } from '../../core/accounts/keys'
import type { AuditTrail } from '../../core/audit'
import type { CredentialStore } from '../../core/credentials/store'
import { callersOf } from '../middleware/callers'
import { notFound } from '../middleware/failures'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/list-query'
import type { OwnerSessions } from '../middleware/owner-session'
import { routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { KEY_DOCS } from './docs'
import { historyEntry, type KeyHistory, type KeyNames } from './key-history'

/** The names and the history of an owner's keys, including revoked ones. */
export function keyRecordRoutes(parts: {
  owners: OwnerSessions
  keys: Keys
  credentials: CredentialStore
  apps: Pick<AppGrantStore, 'byAccount'>
  audit: AuditTrail
}) {
  const { owners, keys, audit } = parts
  return routeGroup({ name: 'key-records', prefix: '/api/keys' })
    .get(
      '/names',
      async ({ context }): Promise<KeyNames> => {
        const { accountId } = await owners.owner(context)
        const callers = await callersOf(accountId, parts)
        return { names: callers.map(({ endedAt, ...caller }) => ({ ...caller, revoked: endedAt !== null })) }
      },
      documented(KEY_DOCS.names),
    )
    .get(
      '/:id/history',
      async ({ context, params }): Promise<KeyHistory> => {
        const { accountId } = await owners.owner(context)
        const query = queryOf(PAGE_QUERY, context)
        const key = await keys.find(accountId, params.id)
        if (!key) throw notFound('This key does not exist.')
        const page = await audit.ofKey(accountId, key.id, query.limit, query.cursor ?? null)
        if (!page) throw refuseCursor(query.cursor ?? '')
        return { history: page.rows.map(historyEntry), next_cursor: page.next }
      },
      documented(KEY_DOCS.history, PAGE_QUERY),
    )
}
