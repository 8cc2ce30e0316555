import { join } from 'node:path'
import { freeBytes } from '../../adapters/backup/files'
import { openBackupTarget } from '../../adapters/backup/open-target'
import { copyUnchanged } from '../../adapters/stores/libsql/backup/snapshot'
import type { WorkerThreads } from '../../adapters/stores/libsql/driver/worker/worker-threads'
import type { Upgrade } from '../../adapters/stores/libsql/upgrade'
import type { Config } from '../../config'
import { copyName, copySize, surplusCopies } from '../../core/backup/copy'
import type { Clock } from '../../core/clock'
import { VERSION } from '../../core/version'
import type { Log } from '../../log'
import { copiedFile } from './backups'

/** In the data folder: copies of the data as older gateways left it. */
const BEFORE_UPGRADE = 'before-upgrade'
const KEPT = 2

interface Parts {
  readonly clock: Clock
  readonly log: Log
  readonly threads?: WorkerThreads | undefined
}

/**
 * Copies the data of an older gateway before this one changes it, and logs how long the change may take. The log of charges goes along as
 * it is: only the older gateway knows the tables that it belongs to.
 */
export function upgradeCopy({ dataDir, backup }: Pick<Config, 'dataDir' | 'backup'>, { clock, log, threads }: Parts) {
  return async ({ file, schema, steps, rebuilds }: Upgrade): Promise<void> => {
    const what = { to: VERSION, migrations: steps.length, tables_written_anew: rebuilds }
    if (file === null || !backup.beforeUpgrade)
      return log.warn('upgrading the database without a copy of it', { ...what, server: file === null })
    log.info('upgrading the database; it is copied first', what)
    const target = openBackupTarget(join(dataDir, BEFORE_UPGRADE), { access: null, workFolder: '' })
    const now = clock.now()
    const name = copyName(now)
    const draft = await target.draft(name)
    const began = performance.now()
    try {
      const needed = Bun.file(file).size + Bun.file(`${file}.log`).size
      const free = await freeBytes(draft.folder)
      if (free < needed)
        throw new Error(
          `the database must be copied before its upgrade: that needs ${needed} bytes, and ${dataDir} has ${free} left. Free some, or set BACKUP_BEFORE_UPGRADE=false`,
        )
      const paths = await copyUnchanged({ from: file, folder: draft.folder, threads })
      const files = await Promise.all(paths.map(copiedFile))
      const { secrets, secretMark } = backup
      const copy = { name, takenAt: now, version: `before ${VERSION}`, schema, problems: 0, files, secrets, secretMark }
      await draft.publish(copy, () => undefined)
      for (const old of surplusCopies(await target.copies(), KEPT, secretMark)) await target.remove(old)
      // A table that is written anew is at most the whole database.
      const seconds = Math.ceil(((performance.now() - began) * (1 + rebuilds)) / 1000)
      log.info('the database was copied; its upgrade takes at most about this long', {
        seconds,
        bytes: copySize(copy),
        copy: join(target.location, name),
      })
    } finally {
      await draft.discard()
    }
  }
}
