import type { BackupReading } from '../../core/backup/backups'
import type { RecentReading } from '../../core/telemetry/recent-calls'
import type { JournalState } from '../../core/telemetry/telemetry'
import type { OwnerSessions } from '../middleware/caller/owner-session'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed } from '../routing/api-access'
import { type Health, healthRecord, type ReadyState } from './health-record'
import { operatorRoles } from './operator-roles'

export interface HealthParts {
  readonly owners: OwnerSessions
  readonly readyState: () => Promise<ReadyState>
  readonly recentCalls: () => RecentReading
  readonly journalState: () => JournalState
  readonly backupReading: () => BackupReading & { readonly isScheduled: boolean }
}

/** The health of the gateway, for the operator's page. */
export function operatorHealthRoutes(parts: HealthParts) {
  const { owners, readyState, recentCalls, journalState, backupReading } = parts
  const { operator } = operatorRoles(owners)
  return routeGroup({ name: 'operator-health', prefix: '/api/operator' }).get(
    '/health',
    ...allowed(operator(), UNDOCUMENTED, async (): Promise<Health> => {
      const state = await readyState()
      return healthRecord(recentCalls(), journalState(), { state, backups: backupReading() })
    }),
  )
}
