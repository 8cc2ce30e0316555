import { Elysia } from 'elysia'
import { OPERATIONS } from '../../core/catalogue/operations'
import type { ParameterTable } from '../../core/catalogue/parameters'
import type { LimitRequestId } from '../../core/ids'
import { formatUsd } from '../../core/money'
import { UNDOCUMENTED } from '../docs/documented'
import { describeRequests, type OperatorParts } from '../operator-commands'
import { operatorGate } from '../operator-gate'
import type { OwnerSessions } from '../owner-session'
import { PAGE_QUERY, pageOf, queryOf } from '../plain-input'

const REQUESTS_QUERY = {
  ...PAGE_QUERY,
  status: {
    in: 'query',
    kind: 'enum',
    values: ['pending', 'approved', 'declined'],
    description: 'Only requests with this status.',
  },
} as const satisfies ParameterTable

/** Requests for higher limits, and prices, as an operator decides them (spec-answers 4). Only for operators; audited. */
export function operatorRoutes(parts: OperatorParts & { readonly owners: OwnerSessions }) {
  const { limitRequests, prices } = parts
  const { operator, order } = operatorGate(parts, parts.owners)
  return new Elysia({ name: 'operator', prefix: '/api/operator' })
    .get(
      '/limit-requests',
      async ({ request }) => {
        await operator(request)
        const { status, limit, cursor } = queryOf(REQUESTS_QUERY, request)
        const filter = { accountId: null, status: status ?? null }
        const page = pageOf(
          await limitRequests.list(filter, limit + 1, (cursor ?? null) as LimitRequestId | null),
          limit,
        )
        return { requests: await describeRequests(parts, page.rows), next_cursor: page.next }
      },
      UNDOCUMENTED,
    )
    .post(
      '/limit-requests/:id/approve',
      async ({ request, params }) => order(request, 'approve', { request: params.id }),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .post(
      '/limit-requests/:id/decline',
      async ({ request, params }) => order(request, 'decline', { request: params.id }),
      { parse: 'none', ...UNDOCUMENTED },
    )
    .get(
      '/prices',
      async ({ request }) => {
        await operator(request)
        return {
          catalogue: Object.values(OPERATIONS).map(({ name, price }) => ({ operation: name, usd: formatUsd(price) })),
          prices: prices.all().map(({ operation, accountId, amount, id, at }) => ({
            ...{ operation, account: accountId, usd: amount === null ? null : formatUsd(amount), version: id },
            at: new Date(at).toISOString(),
          })),
        }
      },
      UNDOCUMENTED,
    )
    .post('/prices', ({ request }) => order(request, 'price', {}), { parse: 'none', ...UNDOCUMENTED })
}
