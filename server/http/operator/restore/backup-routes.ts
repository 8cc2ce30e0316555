import { type AuditTrail, auditEntry } from '../../../core/audit'
import type { Backups } from '../../../core/backup/backups'
import { BackupProblem, type BackupTarget } from '../../../core/backup/target'
import type { ParameterTable } from '../../../core/catalog/parameters'
import { failure } from '../../../core/failure'
import { err, ok } from '../../../core/result'
import { queryOf } from '../../middleware/input/list-query'
import { routeGroup } from '../../middleware/request-context'
import { taken } from '../../middleware/response/failures'
import { UNDOCUMENTED } from '../../openapi/documented'
import { allowed } from '../../routing/api-access'
import { CONSOLE_ONLY, type CommandResult, command } from '../operator-roles'
import {
  type BackupList,
  type BackupStatus,
  copyRecord,
  MAX_LOCATION,
  NewBackup,
  type StartedBackup,
  statusRecord,
} from './backup-record'

export interface BackupParts {
  readonly backups: Backups
  /** The place with this name, or BACKUP_TO. Throws `BackupProblem`. */
  readonly backupTarget: (location: string | null) => BackupTarget
  /** How many copies stay in BACKUP_TO. */
  readonly keepBackups: number
  readonly audit: AuditTrail
  readonly now: () => number
}

const PLACE = {
  to: { in: 'query', kind: 'text', min: 1, max: MAX_LOCATION, description: 'The place whose copies to list.' },
} as const satisfies ParameterTable

/** Backups, for the console: they write to the machine. One may take minutes, so it is started, and then its status read. */
export function backupRoutes(parts: BackupParts) {
  const { backups, backupTarget, keepBackups, audit, now } = parts
  return routeGroup({ name: 'operator-backups', prefix: '/api/operator/backups' })
    .get(
      '',
      ...allowed(CONSOLE_ONLY, UNDOCUMENTED, async ({ context }): Promise<BackupList> => {
        const { to = null } = queryOf(PLACE, context)
        return taken(
          await withPlace(async () => {
            const target = backupTarget(to)
            return { location: target.location, copies: (await target.copies()).map(copyRecord) }
          }),
        )
      }),
    )
    .get('/status', ...allowed(CONSOLE_ONLY, UNDOCUMENTED, (): BackupStatus => statusRecord(backups.state())))
    .post(
      '',
      ...command(CONSOLE_ONLY, NewBackup, (actor, { to, verify = false }) =>
        withPlace(async (): Promise<StartedBackup> => {
          const target = backupTarget(to ?? null)
          const { name, result } = backups.start({ target, verify, keep: to === undefined ? keepBackups : null })
          // The status says how it ended.
          result.catch(() => undefined)
          const detail = { name, location: target.location }
          await audit.write(auditEntry({ at: now(), actor, action: 'backup.start', detail }))
          return detail
        }),
      ),
    )
}

/** A place that cannot be used is the operator's to mend. */
async function withPlace<T>(work: () => Promise<T>): CommandResult<T> {
  try {
    return ok(await work())
  } catch (error) {
    if (error instanceof BackupProblem) return err(failure('invalid_state', `${error.message}.`))
    throw error
  }
}
