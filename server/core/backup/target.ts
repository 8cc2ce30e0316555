import type { CopyManifest } from './copy'

/** A location for copies: a folder, or a bucket of an S3-compatible store. */
export interface BackupTarget {
  /** As the operator wrote it. */
  readonly location: string
  /** Why no copy could be written here now; null if one could. Leaves nothing behind. */
  writeProblem(): Promise<string | null>
  /** The complete copies, oldest first. */
  copies(): Promise<readonly CopyManifest[]>
  /** A folder of this machine for the files of a new copy. The copy is not visible before it is published. */
  draft(name: string): Promise<CopyDraft>
  /** Writes a file of a copy to a path of this machine. */
  fetch(copy: CopyManifest, file: string, to: string): Promise<void>
  /** Deletes a copy: its manifest first, then the files that it names, and nothing else. */
  remove(copy: CopyManifest): Promise<void>
}

export interface CopyDraft {
  readonly folder: string
  /** Completes the copy, durably. */
  publish(manifest: CopyManifest, onProgress: (bytes: number) => void): Promise<void>
  /** Deletes what was written. Does nothing after `publish`. */
  discard(): Promise<void>
}

/** A target that cannot be used: a message for the operator. */
export class BackupProblem extends Error {}

/** A copy whose pages are not whole. */
export class DamagedCopy extends BackupProblem {}

/** The newest complete copy of a target, or the one with this name. */
export async function findCopy(target: BackupTarget, name: string | null): Promise<CopyManifest> {
  const copies = await target.copies()
  const found = name === null ? copies.at(-1) : copies.find((copy) => copy.name === name)
  if (found) return found
  throw new BackupProblem(
    `${target.location} has no complete copy${name === null ? '' : ` named ${name}`}. "gateway operator backup list LOCATION" lists what it has`,
  )
}
