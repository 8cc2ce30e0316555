import { afterAll, beforeAll, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import type { ApiParameter, ApiPrice } from '../../server/core/apis/api'
import { chooseOffer } from '../../server/core/apis/payments/payment-challenge'
import { makeId } from '../../server/core/ids'
import { type Money, micros } from '../../server/core/money'
import { ok } from '../../server/core/result'
import { anApi, anOperation } from '../support/apis'
import { EVM_CHAIN_ID, openEvmSandbox, TOKEN_NAME, TOKEN_VERSION } from '../support/evm/evm-sandbox'
import { openHarness } from '../support/harness'
import { WALLET, walletEnv } from '../support/payments/paid-upstream'
import { MERCHANT, openPaymentSandbox, PAYER } from '../support/payments/payment-sandbox'
import { reconcile } from '../support/reconcile'
import { openServedGateway } from '../support/servers/served-gateway'
import { until } from '../support/until'

const PRICE: ApiPrice = {
  mode: 'reported',
  figure: { kind: 'paid' },
  unit: 'micros',
  multiplier: '1.5',
  minimum: micros(0),
  maximum: micros(10_000),
  onMissing: null,
}
const PATH = '/apis/v1/websearch/images/search'
const QUERY: ApiParameter = {
  name: 'q',
  in: 'query',
  required: true,
  description: '',
  schema: { type: 'string' },
  style: 'form',
  explode: true,
}

let evm: Awaited<ReturnType<typeof openEvmSandbox>>
let tempo: Awaited<ReturnType<typeof openPaymentSandbox>>
beforeAll(async () => {
  ;[evm, tempo] = await Promise.all([openEvmSandbox(), openPaymentSandbox()])
  await evm.mint(WALLET, 20_000n)
  await tempo.transfer(PAYER, WALLET, 20_000n)
})
afterAll(() => Promise.all([evm.close(), tempo.close()]))

/** A gateway that sells for payments of its own, one that buys from it, and a caller with a key of the second. */
async function openBoth(sellerEnv: Record<string, string>, wallet: Record<string, string>) {
  const seller = await openServedGateway({ ...sellerEnv, ANON_RPM: '1000' })
  await seller.gateway.rail.open()
  seller.images.answer = async () => ok({ body: '{"pictures":["one"]}' })
  const buyer = await openHarness({ running: true, env: { ...wallet, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1,::1' } })
  const api = anApi({
    baseUrl: seller.origin,
    timeoutMs: 30_000,
    auth: { kind: '402', payees: [MERCHANT] },
    operations: [anOperation({ path: PATH, price: PRICE, parameters: [QUERY] })],
  })
  buyer.core.apis.replace([api])
  const account = await buyer.account()
  const topUp = { account: account.id, part: 'paid', kind: 'top_up', amount: micros(1_000_000) } as const
  expect((await buyer.core.ledger.credit({ ...topUp, description: 'test', reference: 'top-up' })).ok).toBe(true)
  const key = await buyer.key(account, { spending_limit: 0.01 })
  return {
    buyer,
    origin: seller.origin,
    ask: (q: string) => buyer.as(key, `/apis/v1/weather${PATH}?q=${q}`),
    rows: () =>
      buyer.core.stores.db.all(sql`SELECT state, cost, reference IS NOT NULL AS named FROM upstream_payments`),
    async booksAgree() {
      await seller.close()
      await buyer.close(true)
      expect((await reconcile(buyer.databaseFile)).problems).toEqual([])
    },
  }
}

test('a caller with a key buys from a gateway that accepts payments per request, on a real chain', async () => {
  const { ask, rows, booksAgree, buyer, origin } = await openBoth(
    evm.env,
    walletEnv(evm.nodeUrl, { token: evm.token, chain_id: EVM_CHAIN_ID, name: TOKEN_NAME, version: TOKEN_VERSION }),
  )
  const answer = await ask('card')
  expect([answer.status, await answer.text()]).toEqual([200, '{"pictures":["one"]}'])
  expect(answer.headers.get('x-cost-micros-usd')).toBe('7500')
  await until(async () => (await evm.balance(WALLET)) === 15_000n)
  // The key's cap leaves too little for the hold of another call, so nothing is asked or signed.
  expect((await ask('other')).status).toBe(402)
  expect(await rows()).toEqual([{ state: 'answered', cost: 5000, named: 1 }])
  expect(await evm.balance(WALLET)).toBe(15_000n)
  // The seller offers the same by MPP, whose credential its library accepts.
  const { wallet } = buyer.core.paying ?? {}
  const [token] = wallet?.tokens ?? []
  if (!wallet || !token) throw new Error('there is no wallet')
  const url = `${origin}${PATH}?q=mpp`
  const scheme = (await fetch(url)).headers.get('www-authenticate') ?? ''
  const terms = { tokens: [token], payees: [MERCHANT], url, maximum: micros(5000), priceOf: (cost: Money) => cost }
  const offer = chooseOffer(wallet.readScheme(scheme), terms)
  if (!offer.ok) throw new Error(offer.error)
  const { asked, payee, amount, cost, fee } = offer.value
  const now = Date.now()
  const header = await asked.header(
    {
      request: makeId('req', now),
      account: null,
      operation: 'weather.forecast',
      api: 'weather',
      payee,
      amount,
      cost,
      fee,
      chainId: token.chainId,
      token: token.address,
      payer: wallet.address,
      nonce: asked.nonce ?? '',
      validBefore: Math.floor(now / 1000) + 40,
      signedAt: now,
    },
    wallet,
  )
  const bought = await fetch(url, { headers: { [header.name]: header.value } })
  expect([bought.status, await bought.text()]).toEqual([200, '{"pictures":["one"]}'])
  expect(wallet.readReceipt(bought.headers.get('payment-receipt') ?? '')).toMatch(/^0x[0-9a-f]{64}$/)
  expect(await evm.balance(WALLET)).toBe(10_000n)
  await booksAgree()
})

test('the same by MPP on Tempo, and a transfer that is not answered is found on the chain', async () => {
  const token = { kind: 'tempo', chain_id: SANDBOX_CHAIN_ID, token: SANDBOX_TOKEN, rpc_url: tempo.nodeUrl }
  const { buyer, ask, rows, booksAgree } = await openBoth(tempo.env, {
    ...walletEnv(''),
    UPSTREAM_WALLET_TOKENS: JSON.stringify([token]),
  })
  const answer = await ask('card')
  expect([answer.status, await answer.text()]).toEqual([200, '{"pictures":["one"]}'])
  expect(answer.headers.get('x-cost-micros-usd')).toBe('7500')
  const left = await tempo.balance(WALLET)
  // The network fee comes out of the wallet too.
  expect(Number(left)).toBeLessThanOrEqual(15_000)
  expect(Number(left)).toBeGreaterThan(13_000)
  expect(await rows()).toEqual([{ state: 'answered', cost: 5000, named: 1 }])
  expect((await ask('other')).status).toBe(402)
  const { db, upstreamPayments } = buyer.core.stores
  // The sum for the daily maxima is at least the amount that left the wallet.
  expect(await upstreamPayments.counted(Date.now())).toBe(micros(7000))
  expect(Number(left)).toBeGreaterThanOrEqual(20_000 - 7000)
  const { wallet } = buyer.core.paying ?? {}
  // As if its process had died before the charge, long ago; and one that was never sent.
  await db.run(sql`UPDATE upstream_payments SET state = 'signed', valid_before = valid_before - 3600`)
  const [walletToken] = wallet?.tokens ?? []
  if (!wallet || !walletToken) throw new Error('there is no wallet')
  const [payment] = await upstreamPayments.expired(Date.now(), wallet.address, walletToken)
  if (!payment) throw new Error('no payment is open')
  expect(await wallet.wasCashed(payment)).toBe(true)
  expect(await wallet.wasCashed({ ...payment, nonce: `0x${'07'.repeat(32)}` })).toBe(false)
  expect(await wallet.wasCashed({ ...payment, validBefore: Math.floor(Date.now() / 1000) })).toBeNull()
  tempo.setFault('of another chain')
  expect(await wallet.wasCashed(payment)).toBeNull()
  tempo.setFault('ok')
  await booksAgree()
})
