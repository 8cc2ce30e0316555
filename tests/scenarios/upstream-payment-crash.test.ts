import { afterAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import type { ApiPrice } from '../../server/core/apis/api'
import type { AccountId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import { openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation, saving } from '../support/apis'
import { entry, openTestStores } from '../support/ledger-parts'
import { asksToPay, openNode, PAYEE, paymentIn, walletEnv } from '../support/payments/paid-upstream'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, signUp, startServer } from '../support/servers/server-process'
import { until } from '../support/until'

let folder = ''
const node = openNode()
const paid = Promise.withResolvers<void>()
/** Takes the payment and never answers. */
const upstream = openApiUpstream(async (call) => {
  if (!call.headers['payment-signature']) return asksToPay(`${upstream.url}${call.target}`, { maxTimeoutSeconds: 1 })
  paid.resolve()
  return new Promise<Response>(() => undefined)
})
afterAll(async () => {
  await upstream.close()
  await node.close()
  await removeFolder(folder)
})

const PRICE: ApiPrice = {
  mode: 'reported',
  figure: { kind: 'paid' },
  unit: 'micros',
  multiplier: '1',
  minimum: micros(0),
  maximum: micros(20_000),
  onMissing: null,
}

test('kill -9 before and after signing: one payment, found cashed at the next start, borne by the house account', async () => {
  folder = await dataFolder()
  const env = { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', ...walletEnv(node.url) }
  const zero = await startServer(folder, env)
  const owner = await signUp(zero.url, 'ada@example.com')
  const { secret } = await owner.api('/api/keys', { name: 'payer' })
  const headers = { authorization: `Bearer ${secret}`, 'idempotency-key': 'once' }
  await zero.kill('SIGTERM')
  const account = owner.id as AccountId
  const stores = await openTestStores({ folder })
  const toppedUp = { kind: 'top_up', debit: 'house/top_ups', credit: `${account}/paid`, reference: 'top-up' } as const
  await stores.journal.append({
    entries: [entry(account, 1_000_000, toppedUp)],
    change: { accountId: account, credit: 0, paid: 1_000_000, toppedUp: 1_000_000 },
  })
  const auth = { kind: '402', payees: [PAYEE] } as const
  const operations = [anOperation({ price: PRICE })]
  await stores.apis.write([saving(anApi({ baseUrl: `${upstream.url}/base`, auth, timeoutMs: 60_000, operations }))])
  await stores.close()

  // Killed before anything was written: the upstream was asked, and nothing was signed.
  const frozen = Promise.withResolvers<void>()
  node.onBalance = frozen.resolve
  const early = await startServer(folder, env)
  const unsigned = fetch(`${early.url}/apis/v1/weather/v1/forecast`, { headers }).catch(() => 'cut off')
  await frozen.promise
  await early.kill('SIGKILL')
  expect(await unsigned).toBe('cut off')
  node.onBalance = null
  expect((await Promise.all(upstream.calls.map(paymentIn))).every((one) => one === null)).toBe(true)

  const first = await startServer(folder, env)
  const call = fetch(`${first.url}/apis/v1/weather/v1/forecast`, { headers }).catch(() => 'cut off')
  await paid.promise
  await first.kill('SIGKILL')
  expect(await call).toBe('cut off')
  const [payment, ...more] = (await Promise.all(upstream.calls.map(paymentIn))).filter((one) => one !== null)
  expect([payment?.isSigned, more.length]).toEqual([true, 0])
  node.cashed.add(payment?.nonce ?? '')
  node.seconds = (payment?.validBefore ?? 0) + 100
  await until(() => Date.now() / 1000 > (payment?.validBefore ?? 0) + 1)

  const second = await startServer(folder, env)
  await until(() => node.asked > 0)
  await until(() => second.output().includes('cashed a payment'))
  const now = await owner.api('/api/account', undefined, second.url)
  expect([now.balance_micros_usd, now.held_micros_usd]).toEqual([3_000_000, 0])
  expect((await Promise.all(upstream.calls.map(paymentIn))).filter((one) => one !== null).length).toBe(1)
  await second.kill('SIGTERM')
  const after = await openTestStores({ folder })
  expect(await after.db.all(sql`SELECT state, cost FROM upstream_payments`)).toEqual([
    { state: 'cashed', cost: 10_000 },
  ])
  expect(await after.db.all(sql`SELECT amount FROM entries WHERE debit = 'house/overrun'`)).toEqual([
    { amount: 10_000 },
  ])
  await after.close()
  expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
})
