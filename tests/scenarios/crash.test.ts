import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { reconcile } from '../support/reconcile'
import { control, dataFolder, removeFolder, signUp, startServer } from '../support/server-process'

setDefaultTimeout(60_000)

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
const CLIENTS = 24
const KILLS = 3
/** How many answers each life gives before it is killed. */
const ANSWERS = 150

describe('kill -9 under load', () => {
  let folder = ''
  const served = new Set<string>()

  /** Calls until the connection breaks, and notes the id of every 200. `enough` is called once after enough answers. */
  async function load(url: string, secret: string, enough: () => void): Promise<void> {
    let answers = 0
    const client = async () => {
      for (;;) {
        try {
          const answer = await fetch(url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
          const id = answer.headers.get('x-gateway-request-id')
          await answer.arrayBuffer()
          if (answer.status === 200 && id) served.add(id)
        } catch {
          return
        }
        if (++answers === ANSWERS) enough()
      }
    }
    await Promise.all(Array.from({ length: CLIENTS }, client))
  }

  beforeAll(async () => {
    folder = await dataFolder()
  })
  afterAll(() => removeFolder(folder))

  test(`${KILLS} times loses no charge: every 200 has its row, and all sums agree (spec-answers 4)`, async () => {
    let secret = ''
    for (let life = 0; life < KILLS; life++) {
      const server = await startServer(folder)
      if (life === 0) {
        const owner = await signUp(server.url, 'ada@example.com')
        await control(folder, 'limits', { account: owner.email, limits: { rpm: 1e6, tpm: 1e6, concurrency: 100 } })
        await control(folder, 'grant', { account: owner.email, usd: '1000' })
        secret = (await owner.api('/api/keys', { name: 'load' })).secret
      }
      await load(server.url, secret, () => void server.kill('SIGKILL'))
      expect(await server.exited).not.toBe(0)
    }
    const last = await startServer(folder)
    expect(await last.kill('SIGTERM')).toBe(0)

    const database = join(folder, 'gateway.db')
    const { problems, charges, chargedMicros } = await reconcile(database)
    expect(problems).toEqual([])
    expect(chargedMicros).toBe(charges * 5000)
    const client = createClient({ url: `file:${database}` })
    const rows = await client.execute('SELECT id FROM requests WHERE cost = 5000')
    client.close()
    const charged = new Set(rows.rows.map((row) => String(row['id'])))
    expect([...served].filter((id) => !charged.has(id))).toEqual([])
    expect(served.size).toBeGreaterThan(KILLS * 50)
    // At most one call of each client was under way at each kill: charged, perhaps, without an answer.
    expect(charges - served.size).toBeLessThanOrEqual(KILLS * CLIENTS)
  })
})
