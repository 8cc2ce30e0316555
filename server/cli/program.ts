import { basename } from 'node:path'

/** Where a single binary has its entry point. */
const EMBEDDED = '/$bunfs/'

/** How the command line is called: a single binary by its name, and else as the script of package.json. */
export function programName(entry: string, executable: string): string {
  return entry.startsWith(EMBEDDED) ? basename(executable) : 'bun run gateway'
}

/** How this command line was called, for its help and for commands that it suggests. */
export const PROGRAM = programName(Bun.main, process.execPath)
