import { createReadStream } from 'node:fs'
import { copyFile, open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Flushes a file or folder to disk. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync()
  await handle.close()
}

/** Copies a file, which is private to this user and on disk then. */
export async function copyFileDurably(from: string, to: string): Promise<void> {
  await copyFile(from, to)
  await syncFile(to)
}

export interface DiskLeft {
  readonly bytes: number
  /** How many more files it takes. */
  readonly files: number
}

/** The space that this user can still write on the disk of a path, also of a future one. */
export async function diskLeft(path: string): Promise<DiskLeft> {
  for (let at = path; ; at = dirname(at)) {
    const found = await statfs(at).catch(() => null)
    // Some file systems do not count files.
    if (found)
      return { bytes: found.bavail * found.bsize, files: found.files === 0 ? Number.POSITIVE_INFINITY : found.ffree }
    if (at === dirname(at)) return { bytes: Number.POSITIVE_INFINITY, files: Number.POSITIVE_INFINITY }
  }
}

/** The bytes of `diskLeft`. */
export async function freeBytes(path: string): Promise<number> {
  return (await diskLeft(path)).bytes
}

/** The SHA-256 of a file, in hex. */
export async function checksum(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('sha256')
  for await (const piece of createReadStream(path, { highWaterMark: 256 * 1024 })) hasher.update(piece)
  return hasher.digest('hex')
}
