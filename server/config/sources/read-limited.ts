import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/**
 * The text of a file of at most `maxBytes`, and its permissions; null if it is longer. Reads also what has no size, such as the pipe of
 * `SECRET_KEY_FILE=/dev/stdin`, and stops at the limit: a device may never end.
 */
export function readLimited(path: string, maxBytes: number): { readonly text: string; readonly mode: number } | null {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(maxBytes + 1)
    let length = 0
    for (let read = -1; read !== 0 && length < bytes.length; length += read)
      read = readSync(file, bytes, length, bytes.length - length, null)
    if (length > maxBytes) return null
    const stats = fstatSync(file)
    return { text: bytes.toString('utf8', 0, length), mode: stats.isFile() ? stats.mode : 0 }
  } finally {
    closeSync(file)
  }
}
