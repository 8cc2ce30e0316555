import { resolve } from 'node:path'
import { BackupProblem, type BackupTarget } from '../../core/backup/target'
import { ArchiveBucket, ArchiveFolder, type ArchivePlace } from './archive-place'
import { FolderTarget } from './folder-target'
import { type S3Access, S3Target } from './s3-target'

const S3 = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([A-Za-z0-9!_.*'()/-]*[A-Za-z0-9!_.*'()-]))?\/*$/

export interface TargetOptions {
  /** Null if no access to an S3-compatible store is configured. */
  readonly access: S3Access | null
  /** A folder for what is on its way to a store. */
  readonly workFolder: string
}

/** Opens a location for copies by its name: a folder, or `s3://bucket/prefix`. */
export function openBackupTarget(location: string, options: TargetOptions): BackupTarget {
  if (!location.startsWith('s3:')) return new FolderTarget(resolve(location))
  const { bucket, access } = bucketOf(location, options)
  return new S3Target(bucket, access, options.workFolder)
}

/** Opens a location for archives by its name. */
export function openArchivePlace(location: string, options: TargetOptions): ArchivePlace {
  if (!location.startsWith('s3:')) return new ArchiveFolder(resolve(location))
  const { bucket, access } = bucketOf(location, options)
  return new ArchiveBucket(bucket, access, options.workFolder)
}

/** The bucket in `s3://bucket/prefix`, and the access to it. */
export function bucketOf(location: string, { access }: Pick<TargetOptions, 'access'>) {
  const [, bucket, prefix = ''] = S3.exec(location) ?? []
  if (bucket === undefined) throw new BackupProblem(`${location} must be a folder or s3://bucket/prefix`)
  if (!access)
    throw new BackupProblem(
      `${location} needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, and AWS_ENDPOINT_URL for a store that is not Amazon's`,
    )
  return { bucket: { bucket, prefix }, access }
}
