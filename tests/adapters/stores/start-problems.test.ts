import { afterAll, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { namedProblem } from '../../../server/adapters/stores/libsql/driver/named-problem'
import { Opened } from '../../../server/adapters/stores/libsql/driver/opened'
import { DatabaseError } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import { openDatabase } from '../../../server/adapters/stores/libsql/open-database'
import { isUnavailable } from '../../../server/core/unavailable'
import { hasSqld, openSqld } from '../../support/databases/sqld'
import { freePort } from '../../support/servers/free-port'
import { TEST_THREADS } from '../../support/test-threads'

const folder = await mkdtemp(join(tmpdir(), 'start-problems-'))
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Why a database cannot be opened. */
async function problemOf(url: string): Promise<Error> {
  const opened = new Opened()
  try {
    const nothing = () => undefined
    const options = { url, authToken: 'sesame', isSyncPromised: true, clock: { now: () => Date.now() } }
    await openDatabase({ ...options, onFatal: nothing, onTrouble: nothing, threads: TEST_THREADS }, opened)
    throw new Error('it was opened')
  } catch (error) {
    return error as Error
  } finally {
    await opened.close()
  }
}

describe.skipIf(!hasSqld)('a database server that answers at first', () => {
  /** Opens a migrated database of a server whose answer to the first write is `answer`. */
  async function meeting(answer: (requests: readonly unknown[]) => Response) {
    const database = await openSqld({ migrated: true })
    const proxy = Bun.serve({
      port: 0,
      hostname: '127.0.0.1',
      async fetch(request) {
        const body = await request.text()
        if (body.includes('UPDATE owner')) return answer(JSON.parse(body).requests)
        const { pathname } = new URL(request.url)
        return fetch(database.url + pathname, {
          method: request.method,
          headers: { 'accept-encoding': 'identity' },
          ...(body && { body }),
        })
      },
    })
    const host = `127.0.0.1:${proxy.port}`
    const problem = await problemOf(`http://${host}`)
    await proxy.stop(true)
    await database.close()
    return { problem, host }
  }

  test('and whose disk is full is named, with what to look at', async () => {
    const error = { type: 'error', error: { message: 'SQLite error: disk I/O error', code: 'SQLITE_IOERR' } }
    const { problem, host } = await meeting((requests) =>
      Response.json({ baton: null, base_url: null, results: requests.map(() => error) }),
    )
    expect(problem.message).toBe(
      `The database at ${host} failed: SQLITE_IOERR: SQLite error: disk I/O error. Check its log, the space on its disk, and any proxy before it`,
    )
    expect(isUnavailable(problem)).toBe(true)
  })

  test('and then its proxy for it is named, with the beginning of the page', async () => {
    const page = `<html>\n\u001b[2J${'x'.repeat(5_000)}</html>`
    const { problem, host } = await meeting(
      () => new Response(page, { status: 502, headers: { 'content-type': 'text/plain' } }),
    )
    expect(problem.message).toMatch(
      new RegExp(`^The database at ${host} failed: SERVER_ERROR: .*502.*x… Check its log, [ -~]*$`),
    )
    expect(problem.message.length).toBeLessThan(500)
    expect(problem.message).not.toContain('sesame')
  })
})

test('a database server that does not answer at all is named in whole sentences', async () => {
  const port = await freePort()
  const { message } = await problemOf(`http://127.0.0.1:${port}`)
  expect(message).toStartWith(`The database at 127.0.0.1:${port} does not answer: `)
  expect(message).toMatch(/[^.?!][.?!] Check DATABASE_URL, such as DATABASE_URL=/)
})

test.each(['gateway.db', 'gateway.db.lock'])(
  'a file %s that cannot be opened is named, with what to check',
  async (name) => {
    const own = await mkdtemp(join(folder, 'file-'))
    // Where a file should be, as for any user who may not open it, and for root, too.
    await mkdir(join(own, name))
    const { message } = await problemOf(`file:${join(own, 'gateway.db')}`)
    expect(message).toBe(
      `${join(own, name)} cannot be opened. Check that it is a database, and that the user of this process may read and write it, its folder and the files next to it`,
    )
  },
)

test('a file whose disk is full is named', () => {
  const full = new DatabaseError({ message: 'database or disk is full', code: 'SQLITE_FULL' })
  const named = namedProblem('file:/data/gateway.db', full) as Error
  expect(named.message).toBe(
    'The database /data/gateway.db failed: database or disk is full. Check the space on its disk, that this user may write it and its folder, and that no other program uses it',
  )
})
