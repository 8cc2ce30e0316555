import { describe, expect, test } from 'bun:test'
import type { Api } from '../../../server/core/apis/api'
import type { ApiReport } from '../../../server/http/apis/report-record'
import { anOperation, saving } from '../../support/apis'
import { controlRequest } from '../../support/harness'
import { asksToPay, PAYEE, TOKEN, WALLET } from '../../support/payments/paid-upstream'
import { onePayingGateway, PAID_PATH, unpaidGateway } from '../../support/payments/paying-gateway'

const { paying, booksAgree, current } = onePayingGateway()

describe('an upstream that is paid per request', () => {
  test.each([1, 2] as const)(
    'is paid once, by x402 version %i, and the caller is charged cost x multiplier',
    async (version) => {
      const { call, upstream, spent, payments, states, clock } = await paying({
        asks: (url) => asksToPay(url, {}, version),
      })
      const answer = await call()
      expect([answer.status, await answer.json()]).toEqual([200, { sun: true }])
      expect(answer.headers.get('x-cost-micros-usd')).toBe('12000')
      const [payment, ...more] = await payments()
      expect(payment).toMatchObject({ version, to: PAYEE.toLowerCase(), value: '10000', isSigned: true })
      expect((payment?.validBefore ?? 0) - clock.now() / 1000).toBeLessThanOrEqual(10 + 30 + 1)
      expect([more.length, upstream.calls.length, await spent()]).toEqual([0, 2, 12_000])
      expect(await states()).toEqual(['answered'])
      await booksAgree()
    },
  )

  test('that answers for free is charged nothing', async () => {
    const { call, spent, states } = await paying({ asks: () => Response.json({ sun: false }) })
    expect((await call()).status).toBe(200)
    expect([await spent(), await states()]).toEqual([0, []])
  })

  test('is not paid with signup credit', async () => {
    const { as, core, makeKey, upstream, newAccount } = await paying()
    const account = await newAccount(0)
    expect(Number((await core.ledger.balance(account.id))?.available)).toBeGreaterThan(0)
    expect((await as(await makeKey(account), PAID_PATH)).status).toBe(402)
    expect(upstream.calls).toEqual([])
  })

  test('does not get the secret of the wallet by naming it as its own', async () => {
    const { call, upstream, sell } = await paying()
    const auth = { kind: 'bearer', secret: { from: 'environment', name: 'UPSTREAM_WALLET_KEY' } } as const
    sell({ auth, operations: [anOperation({})] })
    expect((await call()).status).toBe(503)
    expect(upstream.calls).toEqual([])
  })
})

describe('before anything is signed, a challenge is refused that', () => {
  const asking = unpaidGateway()

  test.each<[string, Record<string, unknown>]>([
    ['asks for more than the hold', { amount: '12501' }],
    ['doubles its price', { amount: '20000' }],
    ['names another payee', { payTo: `0x${'c3'.repeat(20)}` }],
    ['names another chain', { network: 'eip155:8453' }],
    ['names a chain by a name of its own', { network: '__proto__' }],
    ['names another token', { asset: `0x${'c3'.repeat(20)}` }],
    ['has another scheme', { scheme: 'upto' }],
    ['is for another resource', { resource: 'https://elsewhere.example/v1/forecast' }],
    ['is for another path', { resource: 'http://127.0.0.1/base/v1/other' }],
    ['has no resource', { resource: null }],
    ['asks for nothing', { amount: '0' }],
    ['asks for a fraction', { amount: '1e4' }],
    ['asks for less than nothing', { amount: '-10000' }],
    ['asks for a number', { amount: 10_000 }],
    ['has no lifetime', { maxTimeoutSeconds: 'long' }],
  ])('%s', async (_, change) => {
    const { call, upstream, spent, states } = asking((url) => asksToPay(url, change))
    expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await spent(), await states()]).toEqual([1, 0, []])
  })

  test('is missing, or is too long', async () => {
    const answers = [
      new Response('pay me', { status: 402 }),
      new Response('', { status: 402, headers: { 'payment-required': 'not base64 json' } }),
      new Response('', { status: 402, headers: { 'www-authenticate': 'Payment id="1"' } }),
      Response.json({ x402Version: 1, accepts: Array(2000).fill({ scheme: 'exact' }) }, { status: 402 }),
    ]
    const { call, upstream, states } = asking(() => answers.shift() ?? new Response())
    for (let i = 0; i < 4; i++) expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await states()]).toEqual([4, []])
  })
})

describe('once signed', () => {
  test('a second 402 is never paid, whatever it asks for', async () => {
    const { call, upstream, spent, states } = await paying({
      paid: () => asksToPay(`${current()?.upstream.url}/base/v1/forecast`),
    })
    expect((await call()).status).toBe(503)
    expect([upstream.calls.length, await spent(), await states()]).toEqual([2, 0, ['signed']])
    await booksAgree()
  })

  test('no redirect carries the payment elsewhere', async () => {
    const { call, upstream, spent } = await paying({
      paid: () => Response.redirect(`${current()?.upstream.url}/base/elsewhere`, 307),
    })
    expect((await call()).status).toBe(502)
    expect([upstream.calls.length, await spent()]).toEqual([2, 0])
  })

  test('a read whose connection breaks sends the same signature again, and a write sends it once', async () => {
    let tries = 0
    const breaking = () =>
      ++tries === 1
        ? new Response(new ReadableStream({ pull: (controller) => controller.error(undefined) }))
        : Response.json({})
    const reading = await paying({ paid: breaking })
    expect((await reading.call()).status).toBe(200)
    const [first, second, ...rest] = await reading.payments()
    expect([first?.text === second?.text, rest.length, await reading.states()]).toEqual([true, 0, ['answered']])
    await current()?.close()
    tries = 0
    const writing = await paying({ paid: breaking, operation: { method: 'POST', effect: 'write' } })
    expect((await writing.call({ headers: { 'idempotency-key': 'a' } })).status).toBeGreaterThanOrEqual(500)
    expect([(await writing.payments()).length, await writing.states()]).toEqual([1, ['signed']])
  })

  test('a payment that can be cashed counts towards the daily maximum, under any concurrency, until it expired unused', async () => {
    const {
      call,
      payments,
      states,
      later,
      spent,
      node: chain,
    } = await paying({
      paid: () => new Response('', { status: 500 }),
      env: { UPSTREAM_WALLET_DAILY_USD_PER_PAYEE: '0.03' },
    })
    const answers = await Promise.all(Array.from({ length: 20 }, () => call()))
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(3).fill(502), ...Array(17).fill(503)])
    expect([(await payments()).length, await states()]).toEqual([3, Array(3).fill('signed')])
    chain.isDown = true
    await later(86_400_000 * 2)
    expect((await call()).status).toBe(503)
    chain.isDown = false
    await later(0)
    expect(await states()).toEqual(Array(3).fill('unused'))
    expect((await call()).status).toBe(502)
    expect(await spent()).toBe(0)
    await booksAgree()
  })

  test('a payment cashed without an answer is booked to the house once, and those of three accounts disable the API', async () => {
    const {
      call,
      another,
      payments,
      states,
      later,
      spent,
      core,
      overruns,
      node: chain,
    } = await paying({ paid: () => new Response('', { status: 500 }) })
    await core.stores.apis.write([saving(core.apis.routes.apis[0] as Api)])
    for (const one of [call, await another(), await another()]) await one()
    for (const { nonce } of await payments()) chain.cashed.add(nonce)
    await later(20_000)
    expect(await states()).toEqual(Array(3).fill('signed'))
    await later(100_000)
    await later(100_000)
    expect(await states()).toEqual(Array(3).fill('cashed'))
    expect(await overruns()).toEqual(Array(3).fill(10_000))
    expect((await call()).status).toBe(404)
    expect(await spent()).toBe(0)
    await booksAgree()
  })

  test('a node that is behind says nothing', async () => {
    const { call, states, clock, node: chain } = await paying({ paid: () => new Response('', { status: 500 }) })
    await call()
    clock.advance(3_600_000)
    await current()?.composed.upstreamPayments?.run()
    expect([chain.asked, await states()]).toEqual([0, ['signed']])
  })
})

test('the token of another address is never signed for, even in the same letters', async () => {
  const { call, states } = await paying({ asks: (url) => asksToPay(url, { asset: TOKEN.toUpperCase() }) })
  expect((await call()).status).toBe(503)
  expect(await states()).toEqual([])
})

test("the operator's report has what the wallet signed, by API and state", async () => {
  const fails = () => new Response('', { status: 500 })
  const {
    call,
    later,
    core,
    composed,
    node: chain,
    payments,
  } = await paying({ paid: () => answers.shift() ?? fails() })
  const answers = [Response.json({})]
  for (let i = 0; i < 3; i++) await call()
  await core.stores.apis.write([saving(core.apis.routes.apis[0] as Api)])
  chain.cashed.add((await payments())[1]?.nonce ?? '')
  const read = async () => {
    const answer = await composed.control(controlRequest('/api-report'))
    return (await answer.json()) as ApiReport
  }
  const { wallet } = await read()
  expect(wallet).toMatchObject({ signed_micros_usd: 30_000, daily_maximum_micros_usd: 1_000_000 })
  expect(wallet?.address).toBe(WALLET.toLowerCase())
  await later(100_000)
  const report = await read()
  expect(report.apis[0]?.upstream_payments.toSorted((a, b) => (a.state < b.state ? -1 : 1))).toEqual([
    { state: 'answered', payments: 1, cost_micros_usd: 10_000 },
    { state: 'cashed', payments: 1, cost_micros_usd: 10_000 },
    { state: 'unused', payments: 1, cost_micros_usd: 10_000 },
  ])
})
