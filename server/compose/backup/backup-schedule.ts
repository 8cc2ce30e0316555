import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { Config } from '../../config'
import { Backups } from '../../core/backup/backups'
import { BackupProblem } from '../../core/backup/target'
import type { Clock } from '../../core/clock'
import type { WebhookStore } from '../../core/webhooks/webhook'
import { startBackups, startLocationCheck } from '../../jobs/backups'
import type { Log } from '../../log'
import { eventWriter } from '../webhooks'
import { backupTarget, backupWork } from './backups'

interface Parts {
  readonly stores: { readonly webhooks: Pick<WebhookStore, 'addEvents' | 'countLost'> }
  readonly clock: Clock
  readonly log: Log
  readonly threads?: WorkerThreads | undefined
}

/** Backups on an operator's command, and on the schedule of BACKUP_TO. */
export function composeBackups(config: Config, { stores, clock, log, threads }: Parts) {
  const { dataDir, databaseUrl, backup } = config
  const source = { dataDir, databaseUrl, backup, threads }
  const backups = new Backups({ ...backupWork(source), clock })
  const configured = backup.to === null ? null : backupTarget(backup.to, source)
  const check = configured && startLocationCheck(configured, log)
  const writeEvent = eventWriter(stores.webhooks, clock, log)
  const job =
    configured &&
    startBackups(
      {
        backups,
        target: configured,
        everyMs: backup.everyMs,
        keep: backup.keep,
        clock,
        onFailure: (reason) => writeEvent('backup.failed', String(clock.now()), { to: configured.location, reason }),
      },
      log,
    )
  return {
    /** For operators' commands. */
    commands: {
      backups,
      keepBackups: backup.keep,
      backupTarget(location: string | null) {
        if (location !== null) return backupTarget(location, source)
        if (configured) return configured
        throw new BackupProblem('Say where the copy goes (`to`), or set BACKUP_TO')
      },
    },
    /** Why copies cannot be made on schedule; null if they can. */
    warning: async (): Promise<string | null> => (await check?.problem()) ?? backups.failure(),
    /** For tests. */
    job,
    /** Does not wait for a backup in progress, which may take minutes: what it wrote is removed by a later one. */
    close() {
      void job?.close()
      void check?.close()
    },
  }
}
