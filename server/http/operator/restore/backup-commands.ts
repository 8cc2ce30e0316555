import { type Actor, type AuditTrail, auditEntry } from '../../../core/audit'
import type { Backups } from '../../../core/backup/backups'
import { BackupProblem, type BackupTarget } from '../../../core/backup/target'
import { type Failure, failure } from '../../../core/failure'
import { err, ok, type Result } from '../../../core/result'
import { NoBody } from '../record'
import { type SocketCommand, socketCommand } from '../socket-command'
import {
  BackupCommand,
  type BackupList,
  BackupListCommand,
  type BackupStatus,
  copyRecord,
  type StartedBackup,
  statusRecord,
} from './backup-record'

export interface BackupCommandParts {
  readonly backups: Backups
  /** The place with this name, or BACKUP_TO. Throws `BackupProblem`. */
  readonly backupTarget: (location: string | null) => BackupTarget
  /** How many copies stay in BACKUP_TO. */
  readonly keepBackups: number
  readonly audit: AuditTrail
  readonly now: () => number
}

/** Backups over the control socket. A backup may take minutes, so it is started, and then its status read. */
export function backupCommands(parts: BackupCommandParts, actor: Actor): Readonly<Record<string, SocketCommand>> {
  const { backups, backupTarget, keepBackups, audit, now } = parts
  return {
    backup: socketCommand(BackupCommand, ({ to, verify = false }) =>
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
    'backup-status': socketCommand(NoBody, async () => ok(statusRecord(backups.state()) satisfies BackupStatus)),
    'backup-list': socketCommand(BackupListCommand, ({ to }) =>
      withPlace(async (): Promise<BackupList> => {
        const target = backupTarget(to ?? null)
        return { location: target.location, copies: (await target.copies()).map(copyRecord) }
      }),
    ),
  }
}

/** A place that cannot be used is the operator's to mend. */
async function withPlace<T>(work: () => Promise<T>): Promise<Result<T, Failure>> {
  try {
    return ok(await work())
  } catch (error) {
    if (error instanceof BackupProblem) return err(failure('invalid_state', `${error.message}.`))
    throw error
  }
}
