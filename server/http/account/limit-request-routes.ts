import type { LimitRequests } from '../../core/accounts/staff/limit-requests'
import type { LimitRequestId } from '../../core/ids'
import { pageOf } from '../../core/page'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { readJson } from '../middleware/input/json-body'
import { PAGE_QUERY, queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { taken } from '../middleware/response/failures'
import { BODY_FAILURES } from '../openapi/body-failures'
import { documented, type EndpointDocs, requestBody } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import {
  LimitRequestPage,
  limitRequestForm,
  limitRequestRecord,
  NewLimitRequest,
  OneLimitRequest,
} from './limit-request-record'

const LIMIT_REQUEST_DOCS = {
  list: {
    id: 'listLimitRequests',
    tag: 'Account',
    summary: 'Your requests for higher limits',
    description: "Newest first, each with the operator's decision and reason.",
    answers: { 200: { description: 'A page of requests.', schema: LimitRequestPage } },
    failures: ['invalid_parameter'],
  },
  open: {
    id: 'requestLimits',
    tag: 'Account',
    summary: 'Ask for higher limits',
    description:
      'Sends a request to the operator of this gateway. An account can have one pending request at a time. An approval moves the account to Growth or gives it custom limits.',
    body: requestBody('The limits you need, and why.', NewLimitRequest, {
      growth: {
        peak_rpm: 2000,
        peak_tpm: 500_000,
        endpoints: ['image-search'],
        use_case: 'Our shop shows pictures for every product, and the catalog is rebuilt each night.',
      },
    }),
    answers: { 201: { description: 'The request, now pending.', schema: OneLimitRequest } },
    failures: [...BODY_FAILURES, 'invalid_state'],
  },
} as const satisfies Record<string, EndpointDocs>

/** Owners request higher limits and follow the status of their requests (spec 8). */
export function limitRequestRoutes(parts: { owners: OwnerSessions; limitRequests: LimitRequests }) {
  const { owners, limitRequests } = parts
  return routeGroup({ name: 'limit-requests', prefix: '/api/limit-requests' })
    .get(
      '',
      ...allowed(
        signedIn(owners, 'settings:read'),
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
        signedIn(owners, 'settings:write'),
        documented(LIMIT_REQUEST_DOCS.open),
        async ({ owner, context, set }): Promise<OneLimitRequest> => {
          const opened = taken(await limitRequests.open(owner, limitRequestForm(taken(await readJson(context)))))
          set.status = 201
          return { request: limitRequestRecord(opened) }
        },
      ),
    )
}
