import { existsSync, readdirSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'

/** Each open file of this process, on Linux. */
const OPEN_FILES = '/proc/self/fd'

export const canListOpenFiles = existsSync(OPEN_FILES)

/** The paths of what this process has open below a folder. A deleted file has a word after its path. */
export function openFilesBelow(folder: string): string[] {
  const paths = readdirSync(OPEN_FILES).flatMap((fd) => pathOf(fd) ?? [])
  return paths.filter((path) => path.startsWith(`${folder}/`)).sort()
}

/** The target of an open file; null if it was closed meanwhile. */
function pathOf(fd: string): string | null {
  try {
    return readlinkSync(join(OPEN_FILES, fd))
  } catch {
    return null
  }
}
