import type { LimitRequests } from '../../core/accounts/staff/limit-requests'
import type { LimitRequestId } from '../../core/ids'
import { pageOf } from '../../core/page'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { LIMIT_REQUEST_DOCS } from './limit-request-docs'
import {
  type LimitRequestPage,
  limitRequestForm,
  limitRequestRecord,
  type OneLimitRequest,
} from './limit-request-record'

/** Owners request higher limits and follow the status of their requests (spec 8). */
export function limitRequestRoutes(parts: { owners: OwnerSessions; limitRequests: LimitRequests }) {
  const { owners, limitRequests } = parts
  return routeGroup({ name: 'limit-requests', prefix: '/api/limit-requests' })
    .get(
      '',
      ...allowed(
        signedIn(owners),
        documented(LIMIT_REQUEST_DOCS.list, PAGE_QUERY),
        async ({ accountId, context }): Promise<LimitRequestPage> => {
          const { limit, cursor } = queryOf(PAGE_QUERY, context)
          const after = (cursor ?? null) as LimitRequestId | null // any text: ids are compared, not looked up
          const rows = await limitRequests.list({ accountId, status: null }, limit + 1, after)
          const page = pageOf(rows, limit)
          return { requests: page.rows.map(limitRequestRecord), next_cursor: page.next }
        },
      ),
    )
    .post(
      '',
      ...allowed(
        signedIn(owners),
        documented(LIMIT_REQUEST_DOCS.open),
        async ({ owner, context, set }): Promise<OneLimitRequest> => {
          const opened = taken(await limitRequests.open(owner, limitRequestForm(taken(await readJson(context)))))
          set.status = 201
          return { request: limitRequestRecord(opened) }
        },
      ),
    )
}
