import { afterAll, beforeAll, expect, test } from 'bun:test'
import { NetworkDatabase } from '../../../server/adapters/stores/libsql/driver/network/network-database'
import { ranWhole } from '../../../server/adapters/stores/libsql/driver/network/step-errors'
import { HttpDouble, type Received } from '../../support/doubles/http-double'

const TIMED_OUT = { message: 'Transaction timed out', code: 'TRANSACTION_TIMEOUT' }
const RESULT = { cols: [], rows: [], affected_row_count: 1, last_insert_rowid: '1', replication_index: null }

interface Asked {
  readonly type: string
  readonly batch?: { readonly steps: readonly unknown[] }
}

/** As sqld answers a batch of which it runs three steps, and rolls back for another connection that waited for the lock for more than 5 s. */
function rolledBackByForce({ type, batch }: Asked) {
  const steps = batch?.steps.map((_, step) => step < 3) ?? []
  const result = {
    step_results: steps.map((ran) => (ran ? RESULT : null)),
    step_errors: steps.map((ran) => (ran ? null : TIMED_OUT)),
    replication_index: '2',
  }
  return { type: 'ok', response: { type, ...(batch && { result }) } }
}

/** Answers each request of a stream as `answer` does. */
function answering(answer: (asked: Asked) => unknown) {
  return ({ method, body }: Pick<Received, 'method' | 'body'>): Response => {
    if (method === 'GET') return new Response()
    const { requests } = JSON.parse(body) as { requests: Asked[] }
    return Response.json({ baton: 'b1', base_url: null, results: requests.map(answer) })
  }
}

let server: HttpDouble
beforeAll(() => {
  server = new HttpDouble(answering(rolledBackByForce))
})
afterAll(() => server.stop())

const STATEMENTS = ['INSERT INTO t VALUES (1)', 'INSERT INTO t SELECT 2', 'INSERT INTO t VALUES (3)', 'SELECT 4']

/** The unhandled errors while `use` used the database. */
async function unhandledIn(use: (database: NetworkDatabase) => Promise<void>): Promise<readonly unknown[]> {
  const unhandled: unknown[] = []
  const note = (error: unknown) => unhandled.push(error)
  process.on('unhandledRejection', note)
  const database = new NetworkDatabase({ url: server.url, authToken: null })
  try {
    await use(database)
    // These are reported after all promises that are settled by now.
    await Bun.sleep(0)
    return unhandled
  } finally {
    process.off('unhandledRejection', note)
    database.close()
  }
}

test('a batch that the server rolls back by force fails once, and leaves no unhandled error', async () => {
  const unhandled = await unhandledIn(async (database) => {
    for (const mode of ['write', 'read'] as const)
      await expect(database.batch(STATEMENTS, mode)).rejects.toMatchObject({ code: TIMED_OUT.code, statementIndex: 2 })
    await expect(database.migrate(STATEMENTS)).rejects.toMatchObject({ code: TIMED_OUT.code })
  })
  expect(unhandled).toEqual([])
})

test('a step without a result before the first error leaves no unhandled error either', async () => {
  server.instead = answering((asked) => {
    const answer = rolledBackByForce(asked)
    answer.response.result?.step_results.splice(1, 1, null)
    return answer
  })
  const unhandled = await unhandledIn(async (database) => {
    await expect(database.batch(STATEMENTS, 'write')).rejects.toMatchObject({ code: TIMED_OUT.code })
  })
  server.instead = null
  expect(unhandled).toEqual([])
})

test('tells a batch of which every step ran from one of which a step failed', () => {
  expect(ranWhole('{"step_errors":[null,null]}')).toBe(true)
  expect(ranWhole('{"rows":["\\"step_errors\\":[{"],"step_errors":[null]}')).toBe(true)
  expect(ranWhole('{"step_errors":[null,{"message":"no"}]}')).toBe(false)
  expect(ranWhole('{"step_errors":[],"replication_index":"1"}')).toBe(true)
  expect(ranWhole('{"cols":[]}')).toBe(false)
})
