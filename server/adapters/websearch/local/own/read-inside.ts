import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { Unreadable } from './own-content'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * The bytes of a regular file inside `root`, which must be a real path; null if the file does not exist. Checks the opened file, not
 * the listing: throws `Unreadable` for a link, a pipe, a device, a file outside the root, and one larger than `maxBytes`. Never
 * blocks on a pipe.
 */
export async function readInside(
  root: string,
  path: string,
  maxBytes: number,
): Promise<Uint8Array<ArrayBuffer> | null> {
  const handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((problem: unknown) => {
    const code: unknown = Reflect.get(Object(problem), 'code')
    if (code === 'ENOENT') return null
    throw new Unreadable(code === 'ELOOP' ? 'a symbolic link, which is not followed' : `cannot be opened (${code})`)
  })
  if (!handle) return null
  try {
    const found = await handle.stat()
    if (!found.isFile()) throw new Unreadable('not a regular file')
    if (found.size > maxBytes) throw new Unreadable(`larger than ${maxBytes / 1e6} MB`)
    // A parent folder may have become a link since it was listed, so check where the file really is.
    const real = await openedAt(handle, path)
    if (real === null || !isInside(root, real)) throw new Unreadable('it is outside the folder')
    const bytes = new Uint8Array(found.size)
    const { bytesRead } = await handle.read(bytes, 0, found.size, 0)
    return bytes.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * The real path of an opened file. Linux reports it for the handle itself. Elsewhere the path is resolved and compared with the
 * handle; null if it is another file by now. That misses a folder that is swapped for a link and back between the two checks.
 */
async function openedAt(handle: FileHandle, path: string): Promise<string | null> {
  const ofHandle = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => null)
  if (ofHandle !== null) return ofHandle
  const real = await realpath(path)
  const [opened, there] = await Promise.all([handle.stat(), stat(real)])
  return there.ino === opened.ino && there.dev === opened.dev ? real : null
}

function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)
}
