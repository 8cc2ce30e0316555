import { isoTime } from '../../core/clock'
import type { UsageReports } from '../../core/usage/reports'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import type { SeenCalls } from '../middleware/caller/seen-calls'
import { queryOf } from '../middleware/input/list-query'
import { routeGroup } from '../middleware/request-context'
import { documented } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { costing, SCAN } from '../routing/cost'
import { ACTIVITY_DOCS } from './activity-docs'
import { callFilter, LOG_FILTER } from './owner-routes'
import type { ErrorReport } from './record'

/** Why calls failed, for the dashboard. */
export function errorRoutes(
  parts: SeenCalls & {
    readonly owners: OwnerSessions
    readonly reports: UsageReports
  },
) {
  const { owners, reports } = parts
  return routeGroup({ name: 'errors', prefix: '/api' }).get(
    '/error-report',
    ...allowed(
      signedIn(owners, 'usage:read'),
      costing(SCAN, documented(ACTIVITY_DOCS.errors, LOG_FILTER)),
      async ({ owner, context }): Promise<ErrorReport> => {
        const filter = await callFilter(parts, owner, queryOf(LOG_FILTER, context))
        const { groups, isPartial } = await reports.errors(filter)
        return {
          is_partial: isPartial,
          errors: groups.map(({ operation, status, code, calls, lastAt, lastId, lastMessage }) => ({
            operation,
            status,
            code,
            requests: calls,
            last_at: isoTime(lastAt),
            last_request_id: lastId,
            last_message: lastMessage,
          })),
        }
      },
    ),
  )
}
