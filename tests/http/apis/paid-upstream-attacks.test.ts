import { describe, expect, spyOn, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import { keccak256, stringToHex } from 'viem'
import { compileJsonSchema } from '../../../server/adapters/openapi/compile-json-schema'
import type { ApiPrice } from '../../../server/core/apis/api'
import { micros } from '../../../server/core/money'
import { ApiInputs } from '../../../server/pipeline/apis/api-input'
import { tryOperation } from '../../../server/pipeline/apis/try-operation'
import { callTool } from '../../support/agents/mcp'
import { saving } from '../../support/apis'
import {
  asksByScheme,
  asksToPay,
  CHAIN_ID,
  openNode,
  PAYEE,
  TOKEN,
  WALLET,
  walletEnv,
} from '../../support/payments/paid-upstream'
import { onePayingGateway, PAID_PATH, type PayingGateway, unpaidGateway } from '../../support/payments/paying-gateway'

const OTHER = `0x${'c3'.repeat(20)}`
const FAILS = () => new Response('', { status: 500 })

const { paying, booksAgree } = onePayingGateway()

describe('an upstream that asks in the Payment scheme (MPP)', () => {
  const asking = unpaidGateway()

  test('is paid once, for a time of ours, and its receipt is kept', async () => {
    const reference = `0x${'9f'.repeat(32)}`
    const receipt = { method: 'evm', reference, status: 'success', timestamp: new Date().toISOString() }
    const challenge = { id: 'only', expires: new Date(Date.now() + 300_000).toISOString() }
    const { call, payments, upstream, rows, spent, clock } = await paying({
      asks: (url) => asksByScheme(url, challenge),
      paid: () =>
        Response.json(
          {},
          { headers: { 'payment-receipt': Buffer.from(JSON.stringify(receipt)).toString('base64url') } },
        ),
    })
    const answer = await call()
    expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, '12000'])
    expect(answer.headers.get('payment-receipt')).toBeNull()
    const [payment, ...more] = await payments()
    const nonce = keccak256(stringToHex(`only${new URL(upstream.url).host}`))
    expect(payment).toMatchObject({ to: PAYEE.toLowerCase(), value: '10000', isSigned: true, nonce })
    expect((payment?.validBefore ?? 0) - clock.now() / 1000).toBeLessThanOrEqual(10 + 30 + 1)
    expect([more.length, upstream.calls.length, await spent()]).toEqual([0, 2, 12_000])
    expect(await rows()).toMatchObject([{ state: 'answered', reference, nonce }])
    await booksAgree()
  })

  test.each<[string, Parameters<typeof asksByScheme>[1]]>([
    ['asks for more than the hold', { request: { amount: '12501' } }],
    ['names another payee', { request: { recipient: OTHER } }],
    ['names another token', { request: { currency: OTHER } }],
    ['names another chain', { details: { chainId: 8453 } }],
    ['pays others besides', { details: { splits: [{ amount: '1', recipient: OTHER }] } }],
    ['wants another kind of credential', { details: { credentialTypes: ['permit2'] } }],
    ['is of another realm', { realm: 'elsewhere.example' }],
    ['has expired', { expires: new Date(Date.now() - 1000).toISOString() }],
    ['is for a subscription', { intent: 'subscription' }],
    ['is of another method', { method: 'stripe' }],
    ['is of the method of another kind of token', { method: 'tempo' }],
    ['wants the payment in a header of the gateway', { header: 'X-Gateway-Hops' }],
  ])('is refused before anything is signed if its challenge %s', async (_, change) => {
    const { call, upstream, spent, states } = asking((url) => asksByScheme(url, change))
    expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await spent(), await states()]).toEqual([1, 0, []])
  })

  test('is not paid twice for one challenge, from any account', async () => {
    const { call, payments, states } = await paying({
      asks: (url) => asksByScheme(url, { id: 'the same' }),
      paid: FAILS,
    })
    const answers = [await call(), await call(), ...(await Promise.all([call(), call()]))]
    expect(answers.map(({ status }) => status)).toEqual([502, 503, 503, 503])
    expect([(await payments()).length, await states()]).toEqual([1, ['signed']])
  })
})

describe('a hostile upstream', () => {
  const offer = (url: string, change: Record<string, unknown> = {}) =>
    asksToPay(url, change).headers.get('payment-required') ?? ''

  test('that sends two challenges in one header is not paid', async () => {
    const { call, states } = await paying({
      asks: (url) => {
        const headers = new Headers({ 'payment-required': offer(url) })
        headers.append('payment-required', offer(url, { amount: '10' }))
        return new Response('{}', { status: 402, headers })
      },
    })
    expect((await call()).status).toBe(503)
    expect(await states()).toEqual([])
  })

  test('that offers several payments gets the first one that is allowed, by whatever protocol', async () => {
    const { call, payments, states } = await paying({
      asks: (url) => {
        const { headers } = asksByScheme(url)
        headers.set('payment-required', offer(url, { payTo: OTHER }))
        return new Response('{}', { status: 402, headers })
      },
    })
    expect((await call()).status).toBe(200)
    expect([(await payments()).map(({ version }) => version), await states()]).toEqual([[null], ['answered']])
  })

  test.each([
    [200, 'application/json'],
    [400, 'application/json'],
    [422, 'text/plain'],
  ])('that shows the payment to the caller in a %i (%s) is not passed on', async (status, type) => {
    const { call, payments, states } = await paying({
      paid: ({ headers }) =>
        new Response(JSON.stringify({ got: headers['payment-signature'] }), {
          status,
          headers: { 'content-type': type },
        }),
    })
    const answer = await call()
    const text = await answer.text()
    expect(answer.status).toBe(502)
    expect(text).not.toContain((await payments())[0]?.text ?? 'nothing was paid')
    expect(await states()).toEqual(['signed'])
  })

  test.each<[string, (signature: string, header: string) => unknown]>([
    ['as v, r and s', (signature) => ({ v: 27, r: signature.slice(0, 66), s: `0x${signature.slice(66, 130)}` })],
    ['with s alone', (signature) => signature.slice(66, 130)],
    ['in capital letters', (signature) => signature.toUpperCase()],
    ['in the other alphabet of base64', (_, header) => Buffer.from(header, 'base64').toString('base64url')],
  ])('that shows the signature %s is not passed on', async (_, shown) => {
    const { call, states } = await paying({
      paid: ({ headers }) => {
        const header = headers['payment-signature'] ?? ''
        return Response.json({ got: shown(JSON.parse(atob(header)).payload.signature, header) })
      },
    })
    expect([(await call()).status, await states()]).toEqual([502, ['signed']])
  })

  test('that cashes and never answers costs the caller nothing and the house once', async () => {
    const stalled = Promise.withResolvers<Response>()
    const { call, payments, states, later, spent, overruns, node } = await paying({
      paid: () => stalled.promise,
      api: { timeoutMs: 2000 },
    })
    expect((await call()).status).toBe(504)
    stalled.resolve(new Response())
    for (const { nonce } of await payments()) node.cashed.add(nonce)
    await later(100_000)
    await later(100_000)
    expect([await states(), await overruns(), await spent()]).toEqual([['cashed'], [10_000], 0])
    await booksAgree()
  })

  test('that cashes and answers with errors, together with its caller, gets three payments until the chain shows their fate', async () => {
    const { call, payments, states, later, node, core, overruns } = await paying({
      paid: FAILS,
      env: { UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '1' },
    })
    const statuses = []
    for (let i = 0; i < 6; i++) statuses.push((await call()).status)
    expect(statuses).toEqual([502, 502, 502, 503, 503, 503])
    // Nor does a restart forget them, and what was in flight counts as well.
    await core.stores.db.run(sql`UPDATE upstream_payments SET ended_at = NULL`)
    await core.stores.upstreamPayments.abandon(0)
    expect((await call()).status).toBe(503)
    const [first] = await payments()
    node.cashed.add(first?.nonce ?? '')
    await later(100_000)
    expect([await states(), await overruns()]).toEqual([['cashed', 'unused', 'unused'], [10_000]])
    expect((await call()).status).toBe(502)
    await booksAgree()
  })

  test('together with one caller stops no other caller, and that caller gets no more until the API is changed', async () => {
    let fails = true
    const { call, another, states, payments, later, node, core, overruns, clock } = await paying({
      paid: () => (fails ? FAILS() : Response.json({ sun: true })),
      env: { UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '1' },
    })
    const [api] = core.apis.routes.apis
    if (!api) throw new Error('nothing is on sale')
    await core.stores.apis.write([saving(api)])
    const other = await another()
    for (let i = 0; i < 4; i++) await call()
    expect(await payments()).toHaveLength(3)
    fails = false
    expect([(await call()).status, (await other()).status]).toEqual([503, 200])
    for (const { nonce } of (await payments()).slice(0, 3)) node.cashed.add(nonce)
    await later(100_000)
    expect([await states(), await overruns()]).toEqual([
      ['cashed', 'cashed', 'cashed', 'answered'],
      Array(3).fill(10_000),
    ])
    expect([(await call()).status, (await other()).status]).toEqual([503, 200])
    core.apis.replace([{ ...api, updatedAt: clock.now() }])
    expect((await call()).status).toBe(200)
    await booksAgree()
  })

  test('that gives three callers no answers is not paid for a fourth until the chain shows their fate', async () => {
    const { call, another, payments, later } = await paying({ paid: FAILS })
    for (const one of [call, await another(), await another(), await another()]) await one()
    expect(await payments()).toHaveLength(3)
    const fourth = await another()
    expect((await fourth()).status).toBe(503)
    await later(100_000)
    expect((await fourth()).status).toBe(502)
    await booksAgree()
  })

  test('that keeps its challenge back until no answer can come in time is not paid', async () => {
    const { call, states, upstream } = await paying({ api: { timeoutMs: 10_000 } })
    const late = performance.now() + 9_000
    upstream.answers(({ target }) => {
      clockOfCalls.mockImplementation(() => late)
      return asksToPay(`${upstream.url}${target}`)
    })
    const clockOfCalls = spyOn(performance, 'now')
    try {
      expect((await call()).status).toBe(503)
    } finally {
      clockOfCalls.mockRestore()
    }
    expect([upstream.calls.length, await states()]).toEqual([1, []])
  })

  test('whose answer does not sell gets no more than that either', async () => {
    const success = { minStatus: 200, maxStatus: 299, conditions: [{ pointer: '/ok', equals: true }] }
    const { call, payments } = await paying({ operation: { success }, paid: () => Response.json({ ok: false }) })
    for (let i = 0; i < 5; i++) await call()
    expect(await payments()).toHaveLength(3)
  })

  test('that asks for a token in a way that it is not paid in fills no daily maximum', async () => {
    const token = { kind: 'tempo', chain_id: CHAIN_ID, token: TOKEN, rpc_url: 'http://127.0.0.1:1' }
    const { call, states } = await paying({ env: { UPSTREAM_WALLET_TOKENS: JSON.stringify([token]) } })
    expect((await call()).status).toBe(503)
    expect(await states()).toEqual([])
  })

  test('with huge or broken headers gets no signature', async () => {
    const huge = btoa(JSON.stringify({ x402Version: 2, accepts: [], extensions: 'x'.repeat(40_000) }))
    const scheme = `Payment id="1", realm="${'x'.repeat(40_000)}", method="evm"`
    const headers = [
      { 'payment-required': huge },
      { 'www-authenticate': scheme },
      { 'www-authenticate': 'Payment id="1", id="2", realm="x", method="evm", intent="charge", request="e30"' },
      { 'www-authenticate': 'Payment request="e30", realm="' },
      { 'payment-required': btoa('[]') },
      { 'payment-required': btoa('{"x402Version":2,"accepts":[null,[],"",{}]}') },
    ]
    const answers = headers.map((one) => new Response('{}', { status: 402, headers: one }))
    const { call, states } = await paying({ asks: () => answers.shift() ?? FAILS() })
    for (const _ of headers) expect((await call()).status).toBeGreaterThanOrEqual(502)
    expect([answers.length, await states()]).toEqual([0, []])
  })

  test('never gets more than was held, even for an account whose price is below the cost', async () => {
    const price: ApiPrice = {
      mode: 'reported',
      figure: { kind: 'paid' },
      unit: 'micros',
      multiplier: '0.5',
      minimum: micros(0),
      maximum: micros(15_000),
      onMissing: null,
    }
    const { call, states } = await paying({ operation: { price }, asks: (url) => asksToPay(url, { amount: '15001' }) })
    expect((await call()).status).toBe(503)
    expect(await states()).toEqual([])
  })
})

describe('nothing is signed', () => {
  test.each<[string, Partial<PayingGateway['node']>]>([
    ['while the wallet has too little', { balance: 9999 }],
    ['for a token with other decimals than the settings say', { decimals: 18 }],
    ['while the node serves another chain', { chainId: 1 }],
    ['for a token that signs under another name', { tokenName: 'Other Dollar' }],
    ['while the node does not answer', { isDown: true }],
  ])('%s', async (_, state) => {
    const { call, node, states, upstream } = await paying()
    Object.assign(node, state)
    expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await states()]).toEqual([1, []])
    Object.assign(node, { balance: 1e9, decimals: 6, chainId: CHAIN_ID, tokenName: 'Test Dollar', isDown: false })
    expect((await call()).status).toBe(200)
  })

  test('for a quote, a maximum price, a trial of the operator, or a repeat; a tool call pays as the route does', async () => {
    const { as, key, call, upstream, gateway, core, states } = await paying()
    expect((await call({ headers: { 'x-cost-mode': 'quote' } })).status).toBe(200)
    expect((await call({ headers: { 'x-max-price-usd': '0.001' } })).status).toBeGreaterThanOrEqual(400)
    const [sold] = [...core.apis.routes.operations]
    if (!sold) throw new Error('nothing is on sale')
    const never = () => Promise.reject(new Error('it was asked'))
    const tokens = { token: async () => null, renew: () => false }
    const deps = { fetch: never, fetchStream: never, secretsOf: () => null, tokens }
    const trial = await tryOperation(deps, new ApiInputs(compileJsonSchema), sold, {}, 'req_1')
    expect(trial).toMatchObject({ status: null, problem: 'The call failed: it is paid per request.' })
    expect([upstream.calls.length, await states()]).toEqual([0, []])
    const called = await callTool(gateway, key, 'weather_forecast')
    expect(called.message.result?._meta?.['gateway/cost_micros_usd']).toBe(12_000)
    expect([upstream.calls.length, await states()]).toEqual([2, ['answered']])
    const repeat = () => as(key, PAID_PATH, { headers: { 'idempotency-key': 'one' } })
    expect([(await repeat()).status, (await repeat()).status]).toEqual([200, 200])
    expect([upstream.calls.length, await states()]).toEqual([4, ['answered', 'answered']])
  })

  test('for a request that has passed through three gateways', async () => {
    const { call, upstream, states } = await paying()
    expect((await call({ headers: { 'x-gateway-hops': '3' } })).status).toBe(503)
    expect([upstream.calls.length, await states()]).toEqual([0, []])
  })
})

describe('under load and after a crash', () => {
  test('fifty calls at once never spend more than the cap of their key, and each charge has one payment', async () => {
    const { call, payments, spent, states } = await paying({
      key: { spending_limit: 0.1 },
      env: { UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '1' },
    })
    const answers = await Promise.all(Array.from({ length: 50 }, () => call()))
    const served = answers.filter(({ status }) => status === 200).length
    expect(served).toBeGreaterThan(0)
    expect(await spent()).toBe(served * 12_000)
    expect(await spent()).toBeLessThanOrEqual(100_000)
    expect([(await payments()).length, await states()]).toEqual([served, Array(served).fill('answered')])
    await booksAgree()
  })

  test('fifty calls at once never sign more than the daily maximum in all', async () => {
    const env = { UPSTREAM_WALLET_DAILY_USD: '0.03', UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '1' }
    const { call, payments, states } = await paying({ env, paid: FAILS })
    await Promise.all(Array.from({ length: 50 }, () => call()))
    expect([(await payments()).length, await states()]).toEqual([3, Array(3).fill('signed')])
  })

  test('a clock that is set forward or back frees nothing that may still be cashed', async () => {
    const env = { UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '0.01' }
    const { call, payments, states, clock, composed, node } = await paying({ env, paid: FAILS })
    expect((await call()).status).toBe(502)
    for (const jump of [3 * 86_400_000, -6 * 86_400_000]) {
      clock.jump(jump)
      await composed.upstreamPayments?.run()
      expect((await call()).status).toBe(503)
    }
    node.chainId = 1
    node.seconds += 1_000_000_000
    await composed.upstreamPayments?.run()
    expect([(await payments()).length, await states()]).toEqual([1, ['signed']])
  })

  test('payments are deleted after a hundred days, but for those that may still be cashed', async () => {
    let isDown = false
    const paid = () => (isDown ? FAILS() : Response.json({ sun: true }))
    const { call, states, clock, composed } = await paying({ paid })
    expect((await call()).status).toBe(200)
    isDown = true
    expect((await call()).status).toBe(502)
    clock.advance(100 * 86_400_000 - 60_000)
    await composed.upstreamPayments?.run()
    expect(await states()).toEqual(['answered', 'signed'])
    clock.advance(120_000)
    await composed.upstreamPayments?.run()
    expect(await states()).toEqual(['signed'])
    await booksAgree()
  })

  test('a node that is down delays nothing on other chains', async () => {
    const other = openNode()
    const [own] = JSON.parse(walletEnv(other.url)['UPSTREAM_WALLET_TOKENS'] ?? '[]')
    const dead = { ...own, chain_id: 1, rpc_url: 'http://127.0.0.1:1' }
    const tokens = { UPSTREAM_WALLET_TOKENS: JSON.stringify([dead, own]) }
    const { call, states, later, core, clock } = await paying({ env: tokens, paid: FAILS })
    await call()
    const token = { chainId: CHAIN_ID, address: TOKEN.toLowerCase(), decimals: 6 }
    const [payment] = await core.stores.upstreamPayments.expired(clock.now() + 1e9, WALLET.toLowerCase(), token)
    if (!payment) throw new Error('nothing was paid')
    const onDeadChain = { ...payment, chainId: 1, request: 'req_dead' as typeof payment.request, nonce: '0x1' }
    await core.stores.upstreamPayments.open(onDeadChain, { inAll: micros(1_000_000), perPayee: micros(1_000_000) }, 0)
    other.seconds = clock.now() / 1000 + 1000
    await later(100_000)
    expect(await states()).toEqual(['unused', 'signed'])
    await other.close()
  })

  test('a payment is closed by what the chain and the ledger say, whenever the process died', async () => {
    const { call, rows, later, overruns, node, core, clock } = await paying()
    const died = (request: string) =>
      core.stores.db.run(sql`UPDATE upstream_payments SET state = 'signed' WHERE request = ${request}`)
    // After the charge, before the note of it.
    await call()
    const [charged] = await rows()
    if (!charged) throw new Error('nothing was paid')
    await died(charged.request)
    node.cashed.add(charged.nonce)
    // After the row, before or after the signature, and after the payment was sent: the same row, and no charge.
    const token = { chainId: CHAIN_ID, address: TOKEN.toLowerCase(), decimals: 6 }
    const [payment] = await core.stores.upstreamPayments.expired(clock.now() + 86_400_000, WALLET.toLowerCase(), token)
    if (!payment) throw new Error('nothing is open')
    for (const step of ['unsent', 'sent'] as const) {
      const nonce = `0x${(step === 'sent' ? '5e' : '0f').repeat(32)}`
      const opened = { ...payment, request: `req_${step}` as typeof payment.request, nonce }
      await core.stores.upstreamPayments.open(opened, { inAll: micros(1_000_000), perPayee: micros(1_000_000) }, 0)
      if (step === 'sent') node.cashed.add(nonce)
    }
    await later(100_000)
    const states = Object.fromEntries((await rows()).map(({ request, state }) => [request, state]))
    expect(states).toEqual({ [charged.request]: 'answered', req_unsent: 'unused', req_sent: 'cashed' })
    expect(await overruns()).toEqual([10_000])
    await booksAgree()
  })
})
