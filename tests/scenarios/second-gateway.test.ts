import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import type { ApiParameter, ApiPrice } from '../../server/core/apis/api'
import { micros } from '../../server/core/money'
import { ok } from '../../server/core/result'
import { anApi, anOperation } from '../support/apis'
import { EVM_CHAIN_ID, openEvmSandbox, TOKEN_NAME, TOKEN_VERSION } from '../support/evm/evm-sandbox'
import { openHarness } from '../support/harness'
import { WALLET, walletEnv } from '../support/paid-upstream'
import { MERCHANT } from '../support/payment-sandbox'
import { reconcile } from '../support/reconcile'
import { openServedGateway } from '../support/served-gateway'
import { until } from '../support/until'

let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
beforeAll(async () => {
  sandbox = await openEvmSandbox()
  await sandbox.mint(WALLET, 20_000n)
})
afterAll(() => sandbox.close())

test('a caller with a key buys from a gateway that accepts payments per request, on a real chain', async () => {
  const seller = await openServedGateway({ ...sandbox.env, ANON_RPM: '1000' })
  await seller.gateway.rail.open()
  seller.images.answer = async () => ok({ body: '{"pictures":["one"]}' })
  const buyer = await openHarness({
    running: true,
    env: {
      ...walletEnv(sandbox.nodeUrl),
      ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1',
      UPSTREAM_WALLET_TOKEN: sandbox.token,
      UPSTREAM_WALLET_TOKEN_NAME: TOKEN_NAME,
      UPSTREAM_WALLET_TOKEN_VERSION: TOKEN_VERSION,
      UPSTREAM_WALLET_CHAIN_ID: String(EVM_CHAIN_ID),
    },
  })
  const price: ApiPrice = {
    mode: 'reported',
    figure: { kind: 'paid' },
    unit: 'micros',
    multiplier: '1.5',
    minimum: micros(0),
    maximum: micros(10_000),
    onMissing: null,
  }
  const path = '/apis/v1/websearch/images/search'
  const query: ApiParameter = {
    name: 'q',
    in: 'query',
    required: true,
    description: '',
    schema: { type: 'string' },
    style: 'form',
    explode: true,
  }
  const api = anApi({
    baseUrl: seller.origin,
    timeoutMs: 30_000,
    auth: { kind: '402', payees: [MERCHANT] },
    operations: [anOperation({ path, price, parameters: [query] })],
  })
  buyer.core.apis.replace([api])
  const account = await buyer.account()
  const topUp = { account: account.id, part: 'paid', kind: 'top_up', amount: micros(1_000_000) } as const
  expect((await buyer.core.ledger.credit({ ...topUp, description: 'test', reference: 'top-up' })).ok).toBe(true)
  const key = await buyer.key(account, { spending_limit: 0.01 })

  const answer = await buyer.as(key, `/apis/v1/weather${path}?q=card`)
  expect([answer.status, await answer.text()]).toEqual([200, '{"pictures":["one"]}'])
  expect(answer.headers.get('x-cost-micros-usd')).toBe('7500')
  await until(async () => (await sandbox.balance(WALLET)) === 15_000n)
  // The key's cap leaves too little for the hold of another call, so nothing is asked or signed.
  expect((await buyer.as(key, `/apis/v1/weather${path}?q=other`)).status).toBe(402)
  const rows = await buyer.core.stores.db.all(sql`SELECT state, cost FROM upstream_payments`)
  expect(rows).toEqual([{ state: 'answered', cost: 5000 }])
  expect(await sandbox.balance(WALLET)).toBe(15_000n)
  await seller.close()
  await buyer.close(true)
  expect((await reconcile(buyer.databaseFile)).problems).toEqual([])
})
