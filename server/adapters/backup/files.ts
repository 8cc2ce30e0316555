import { closeSync, createReadStream, fstatSync, fsyncSync, openSync, renameSync, type Stats, writeSync } from 'node:fs'
import { open, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'

/** Flushes a file or folder to disk. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path)
  await handle.sync()
  await handle.close()
}

/** Replaces a small file at once or not at all. Durable when it returns. `text` gets what the new file is, its inode for one. */
export function replaceDurably(path: string, text: (own: Stats) => string): void {
  const draft = `${path}.draft`
  const fd = openSync(draft, 'w', 0o600)
  try {
    writeSync(fd, text(fstatSync(fd)))
    fsyncSync(fd)
  } finally {
    closeSync(fd)
  }
  renameSync(draft, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  closeSync(folder)
}

/** How often a file is flushed while it is written. */
const FLUSH_MS = 50

/**
 * Writes a large file by `write`, which makes it at `path`, and flushes it meanwhile: left to itself the kernel writes it in bursts, and the
 * log of charges on the same disk waits for each of them for a third of a second. `onSize` is called with the bytes on disk.
 */
export async function writeFlushed<T>(
  path: string,
  write: () => Promise<T>,
  onSize: (bytes: number) => void = () => undefined,
): Promise<T> {
  let isFlushing = false
  const flush = async () => {
    if (isFlushing) return
    isFlushing = true
    try {
      const handle = await open(path, 'r+')
      await handle.datasync()
      const { size } = await handle.stat()
      await handle.close()
      onSize(size)
    } catch {
      // It is not there yet, or no longer. The writer knows of a disk that fails.
    } finally {
      isFlushing = false
    }
  }
  const timer = setInterval(flush, FLUSH_MS)
  try {
    return await write()
  } finally {
    clearInterval(timer)
  }
}

/** The bytes of a copy that are on disk before the next are written. */
const COPIED_BYTES = 4 * 1024 * 1024

/** Copies a file, which is private to this user and on disk then. Never has much to flush, for the same reason. */
export async function copyFileDurably(from: string, to: string): Promise<void> {
  await using target = await open(to, 'w', 0o600)
  for await (const piece of createReadStream(from, { highWaterMark: COPIED_BYTES })) {
    await target.writeFile(piece)
    await target.datasync()
  }
  await target.sync()
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
