import { execFile } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Where Linux has files in memory. */
const MEMORY = '/dev/shm'
/** A run of all tests has at most 2 GB of files at a time. Containers often have 64 MB there. */
const MIN_FREE_BYTES = 8 * 1024 ** 3

/**
 * A new folder for the files of tests: in memory where there is room and programs may run there, otherwise in the system's temporary folder. The
 * databases of tests wait for the disk with each commit, which takes 7 % of the processor time of a run.
 */
export async function temporaryFolder(
  prefix: string,
  { memory = MEMORY, minFreeBytes = MIN_FREE_BYTES } = {},
): Promise<string> {
  return (await folderIn(memory, prefix, minFreeBytes).catch(() => null)) ?? mkdtemp(join(tmpdir(), prefix))
}

/** Null if there is too little room. Rejects if it cannot be used. */
async function folderIn(root: string, prefix: string, minFreeBytes: number): Promise<string | null> {
  const { bavail, bsize } = await statfs(root)
  if (bavail * bsize < minFreeBytes) return null
  const folder = await mkdtemp(join(root, prefix))
  try {
    const program = join(folder, 'runs')
    await writeFile(program, '#!/bin/sh\n', { mode: 0o700 })
    await promisify(execFile)(program)
    await rm(program)
    return folder
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}
