import { open } from 'node:fs/promises'
import { LogDamaged, logExtent } from '../journal/log-format'

/** The gateway empties its log at most every 32 MiB of charges. */
const ATTEMPTS = 5

/**
 * The whole lines of a log that another process may be writing: every group that was acknowledged before, unless the tables have it.
 * Empty if there is no log.
 */
export async function readLog(path: string): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt++) {
    const bytes = await bytesOf(path)
    try {
      return bytes.subarray(0, logExtent(bytes).goodLength)
    } catch (error) {
      // It was emptied and written again between two reads. Its groups are in the tables by then.
      if (!(error instanceof LogDamaged) || attempt === ATTEMPTS) throw error
    }
  }
}

/** Its bytes at the time of the call, or fewer. */
async function bytesOf(path: string): Promise<Uint8Array> {
  const file = await open(path).catch((error: unknown) => {
    if (Object(error).code === 'ENOENT') return null
    throw error
  })
  if (!file) return new Uint8Array()
  try {
    const bytes = Buffer.allocUnsafe((await file.stat()).size)
    let length = 0
    while (length < bytes.length) {
      const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
      if (bytesRead === 0) break
      length += bytesRead
    }
    return bytes.subarray(0, length)
  } finally {
    await file.close()
  }
}
