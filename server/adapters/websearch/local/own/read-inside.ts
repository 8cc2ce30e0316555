import { constants } from 'node:fs'
import { type FileHandle, open, readlink, realpath, stat } from 'node:fs/promises'
import { sep } from 'node:path'
import { Unreadable } from './own-content'

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/**
 * The bytes of a regular file inside `root`, which is a real path; null when it is not there. Whatever it was when the folder was listed,
 * it is judged by what was opened: throws `Unreadable` for a link, a pipe, a device, a file outside the root, and one longer than
 * `maxBytes`. Never waits for a pipe.
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
    // A folder on the way may have become a link since it was listed: where the file truly is decides.
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
 * The real path of what was opened. Linux tells it of the handle itself. Elsewhere it is asked by the path and compared, null when it
 * is another file by now: a folder that became a link, and a folder, and a link once more between the two questions is not seen.
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
