import { expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { sql } from 'drizzle-orm'
import { Connection } from '../../server/adapters/workers/connection'
import type { Actor } from '../../server/core/audit'
import { CATALOG_VERSION } from '../../server/core/catalog/operation'
import { HOUR_MS } from '../../server/core/clock'
import { hashSecret } from '../../server/core/credentials/secret'
import { readWorkerCredential } from '../../server/core/credentials/worker-credentials'
import { micros } from '../../server/core/money'
import { VERSION } from '../../server/core/version'
import { MAX_OVERRUNS } from '../../server/workers/overruns'
import { openHarness } from '../support/harness'
import { reconcile } from '../support/reconcile'
import { freePort } from '../support/servers/free-port'
import { until } from '../support/until'

const OPERATOR: Actor = { kind: 'operator', id: 'test', address: null }
const HELD = micros(60_000_000)
const NONE = { model: undefined, tokens: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 } }

test('a worker that reports too much above its holds is cut off, with an alarm, and the gateway bears no more', async () => {
  const port = await freePort()
  const gateway = await openHarness({ env: { WORKERS_PORT: String(port) } })
  const { core, clock, logged } = gateway
  const account = await gateway.account(0)
  const key = await gateway.key(account)
  const amount = micros(1_000_000_000)
  const money = { account: account.id, part: 'paid', kind: 'top_up', description: 'test', reference: 'top-up' } as const
  expect((await core.ledger.credit({ ...money, amount })).ok).toBe(true)
  const made = await core.workerCredentials.add(OPERATOR, 'rack-1')
  const credential = made.ok ? readWorkerCredential(made.value) : null
  if (!credential) throw new Error('no credential')
  const started = gateway.gateway.workers.start(port + 1, [])
  const connection = new Connection({
    addresses: [{ hostname: '127.0.0.1', port, tls: false }],
    credential: credential.name,
    key: credential.key,
    instance: randomBytes(16).toString('hex'),
    version: VERSION,
    onPush: () => undefined,
    warn: () => undefined,
  })
  /** A call that costs a dollar, and reports an overrun. Returns the answer to its charge. */
  const charged = async (overrun: number) => {
    await until(() => connection.isReady)
    const url = 'http://localhost/apis/v1/websearch/images/search?q=card'
    const admit = ['api_key', hashSecret(key.secret), '', 'GET', url, '127.0.0.1', null, false]
    const [id] = (await connection.ask('admit', admit)) ?? []
    const needs = { operation: 'image-search', maxCost: HELD, version: CATALOG_VERSION, fixed: false, minCost: null }
    const more = { credit: 'all', needsTopUp: null, load: null, timeoutMs: 1000, fingerprint: null }
    expect((await connection.ask('hold', [id, { ...needs, ...more }]))?.[0]).toBeNull()
    const cost = { cost: 1_000_000, priceVersion: 'test', units: 1, unitPrice: 1_000_000 }
    const row = { ...NONE, status: 200, code: null, charged: cost, operation: 'image-search' }
    return connection.ask('capture', [id, overrun, 0, row])
  }
  const borne = async () => {
    await core.stores.applied()
    const sums = await core.stores.db.all<{ sum: number }>(
      sql`SELECT sum(amount) AS sum FROM entries WHERE kind = 'overrun'`,
    )
    return sums[0]?.sum
  }
  try {
    expect([await charged(HELD), connection.sessionNumber]).toEqual([[null, null], 1])
    // A worker can report no more than the hold of each call; the second one is above what the window has room for.
    expect([await charged(1_000 * HELD), await borne()]).toEqual([null, Number(MAX_OVERRUNS)])
    await until(() => connection.isReady && connection.sessionNumber === 2)
    // Its calls are still charged, and next to nothing is booked above them until the hour is over.
    expect([await charged(HELD), connection.sessionNumber]).toEqual([[null, null], 2])
    clock.advance(HOUR_MS)
    expect([await charged(5), connection.sessionNumber]).toEqual([[null, null], 2])
    const balance = await core.ledger.balance(account.id)
    expect([balance?.posted, balance?.held]).toEqual([micros(2_000_000 + amount - 4_000_000), micros(0)])
    expect(await borne()).toBe(MAX_OVERRUNS + 1 + 5)
    const rows = await core.stores.db.all<{ data: string }>(sql`SELECT data FROM events WHERE type = 'ledger.alarm'`)
    const [alarm, ...others] = rows.map(({ data }) => JSON.parse(data))
    expect([alarm, others]).toEqual([{ worker: 'rack-1', reason: expect.stringContaining('100 USD') }, []])
    expect(logged.filter((line) => line.includes('a worker is cut off'))).toHaveLength(1)
  } finally {
    connection.close()
    await started.stop(1000)
    await gateway.close(true)
  }
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  await rm(gateway.folder, { recursive: true, force: true })
})
