import type { Static } from '@sinclair/typebox'
import type { BackupState } from '../../../core/backup/backups'
import { type CopyManifest, copySize } from '../../../core/backup/copy'
import { isoTime } from '../../../core/clock'
import {
  instant,
  line,
  listOf,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  whole,
  yesOrNo,
} from '../../openapi/json-schema'

export const MAX_LOCATION = 1000

export const NewBackup = partialForm('A backup to make.', {
  to: line('A folder of the server, or `s3://bucket/prefix`. Default: BACKUP_TO.', MAX_LOCATION),
  verify: yesOrNo('Whether to read the copy back and reconcile it.'),
})

const name = text('The name of the copy.')
const location = text('The folder or bucket.')
const count = (description: string) => whole(description, { minimum: 0 })

export const StartedBackup = record('A backup that was started.', { name, location })
export type StartedBackup = Static<typeof StartedBackup>

export const BackupCopy = record('A complete copy.', {
  name,
  taken_at: instant('When it was taken.'),
  bytes: count('Its size.'),
  version: text('The version of the gateway that made it.'),
  problems: count('Number of mismatches in the ledger, copied from the original.'),
  files: listOf(text('A file.'), 'Its files.'),
  secrets: listOf(text('The name of a setting.'), 'Settings with secrets that it needs and does not contain.'),
})
export type BackupCopy = Static<typeof BackupCopy>

export const BackupStatus = record('What happened to the backups since the gateway was started.', {
  running: orNull(
    record('The backup in progress.', {
      name,
      location,
      since: instant('When it began.'),
      step: oneOf(['copying', 'checking', 'storing', 'verifying'], 'What it does.'),
      bytes: count('How many bytes of the step are done.'),
      total: count('How many there are; 0 while it is not known.'),
    }),
    'none',
  ),
  last_success: orNull(
    record('The last one that succeeded.', {
      name,
      location,
      at: instant('When it ended.'),
      copy: BackupCopy,
    }),
    'none',
  ),
  last_failure: orNull(
    record('The last one that failed.', { name, location, at: instant('When it ended.'), reason: text('Why.') }),
    'none',
  ),
})
export type BackupStatus = Static<typeof BackupStatus>

export const BackupList = record('The copies in one place, oldest first.', {
  location,
  copies: listOf(BackupCopy, 'The complete ones.'),
})
export type BackupList = Static<typeof BackupList>

export function copyRecord(copy: CopyManifest): BackupCopy {
  return {
    name: copy.name,
    taken_at: isoTime(copy.takenAt),
    bytes: copySize(copy),
    version: copy.version,
    problems: copy.problems,
    files: copy.files.map((file) => file.name),
    secrets: [...copy.secrets],
  }
}

export function statusRecord({ running, lastSuccess, lastFailure }: BackupState): BackupStatus {
  return {
    running: running && { ...running, since: isoTime(running.since) },
    last_success: lastSuccess && {
      ...lastSuccess,
      at: isoTime(lastSuccess.at),
      copy: copyRecord(lastSuccess.copy),
    },
    last_failure: lastFailure && { ...lastFailure, at: isoTime(lastFailure.at) },
  }
}
