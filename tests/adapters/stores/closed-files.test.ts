import { afterAll, describe, expect, test } from 'bun:test'
import { mkdtemp, realpath, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Connection } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { OWN_THREADS, type WorkerThreads } from '../../../server/adapters/stores/libsql/driver/worker/worker-threads'
import { canListOpenFiles, openFilesBelow } from '../../support/databases/open-files'
import { until } from '../../support/until'

const folder = await mkdtemp(join(await realpath(tmpdir()), 'gateway-closed-files-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

const fail = (error: Error) => {
  throw error
}

/** Opens and closes a database in a thread of its own. */
async function useOnce(name: string, role: 'writer' | 'reader' | 'copier', uses: number): Promise<void> {
  const connection = await Connection.open({ url: `file:${join(folder, name)}`, authToken: null, role }, fail)
  for (let i = 0; i < uses; i++) await connection.rows(`SELECT ${i}, name FROM sqlite_schema`)
  await connection.close()
}

/** What this process has open of a database. */
const filesOf = (name: string) => openFilesBelow(folder).filter((path) => path.startsWith(join(folder, name)))

describe.skipIf(!canListOpenFiles)(
  'a closed connection leaves no file open, so that no deleted copy stays on the disk',
  () => {
    for (const role of ['writer', 'reader', 'copier'] as const)
      test(`of a ${role}`, async () => {
        for (let i = 0; i < 4; i++) await useOnce(`${role}-${i}.db`, role, 1)
        expect(openFilesBelow(folder)).toEqual([])
      })

    // The collector is conservative: once in a while a thread keeps a statement, and its file, until the process ends.
    test('after hundreds of statements, which the compiler of the thread may still hold', async () => {
      for (let i = 0; i < 12; i++) await useOnce('hot.db', 'reader', 300)
      expect(filesOf('hot.db').length).toBeLessThan(3)
    })

    test('that is no database, nor the thread that could not open it', async () => {
      const started: Worker[] = []
      let ended = 0
      const threads: WorkerThreads = {
        start(script) {
          const worker = OWN_THREADS.start(script)
          worker.addEventListener('close', () => ended++)
          started.push(worker)
          return worker
        },
        end: OWN_THREADS.end,
      }
      const url = `file:${join(folder, 'none.db')}`
      await Bun.write(join(folder, 'none.db'), 'no database, '.repeat(1000))
      for (let i = 0; i < 5; i++)
        await expect(Connection.open({ url, authToken: null, role: 'reader', threads }, fail)).rejects.toThrow(
          'not a database',
        )
      await until(() => ended === started.length)
      expect(started).toHaveLength(5)
      expect(filesOf('none.db')).toEqual([])
    })

    test('where several close at the same time', async () => {
      await Promise.all(Array.from({ length: 12 }, () => useOnce('shared.db', 'reader', 20)))
      expect(filesOf('shared.db').length).toBeLessThan(3)
    })
  },
)
