import { chownSync, existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

/** Debian puts them in no PATH. */
function programs(): string | null {
  const root = '/usr/lib/postgresql'
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : []
  const installed = versions
    .map((version) => join(root, version, 'bin'))
    .find((bin) => existsSync(join(bin, 'postgres')))
  return installed ?? Bun.which('postgres')?.replace(/\/postgres$/, '') ?? null
}

/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534
const AS_NOBODY =
  process.getuid?.() === 0 ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : []

/** Whether no PostgreSQL can run on this machine: `bun run verify` installs it. */
export const POSTGRES_IS_MISSING = programs() === null || (AS_NOBODY.length > 0 && Bun.which('setpriv') === null)

/** The arguments of `initdb`: a user `gateway`, whom it trusts. */
export const INIT = ['-A', 'trust', '-U', 'gateway', '--no-sync', '-E', 'UTF8', '--locale=C']
/** For `postgres`: on this machine only. Shared memory in the folder, too: what is killed leaves it behind. */
export const HERE = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'dynamic_shared_memory_type=mmap',
].flatMap((setting) => ['-c', setting])

/** Runs programs of PostgreSQL on the data in a folder. */
export function postgresIn(folder: string) {
  if (AS_NOBODY.length > 0) chownSync(folder, NOBODY, NOBODY)
  return (program: string, args: readonly string[]) =>
    Bun.spawn([...AS_NOBODY, join(programs() ?? '', program), '-D', join(folder, 'data'), ...args], {
      cwd: folder,
      stdout: 'ignore',
      stderr: 'pipe',
      // Ctrl-C is for who started it.
      detached: true,
    })
}
