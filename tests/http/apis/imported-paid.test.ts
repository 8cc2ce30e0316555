import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { micros } from '../../../server/core/money'
import type { ApiReport } from '../../../server/http/apis/report-record'
import { type ApiUpstream, openApiUpstream } from '../../support/api-upstream'
import { anApi, anOperation } from '../../support/apis'
import type { Harness } from '../../support/harness'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT, openPaymentSandbox, PAYER } from '../../support/payments/payment-sandbox'
import { endAndReconcile } from '../wire'

const PATH = '/apis/v1/weather/v1/forecast?city=Oslo'

describe('an imported operation that is paid for by itself (spec 5.3, spec D12)', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let upstream: ApiUpstream
  let gateway: Harness

  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    upstream = openApiUpstream()
    gateway = await openPayable(sandbox, { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' })
    const city = { name: 'city', in: 'query', required: true, description: '', style: 'form', explode: true } as const
    const operations = [
      anOperation({
        parameters: [
          { ...city, schema: { type: 'string' } },
          { ...city, name: 'X-Unit', in: 'header', required: false, style: 'simple', schema: { type: 'string' } },
        ],
      }),
      anOperation({ id: 'dear', path: '/v1/dear', payPerRequest: false }),
      anOperation({ id: 'order', path: '/v1/orders', method: 'POST', effect: 'write' }),
    ]
    gateway.core.apis.replace([anApi({ baseUrl: upstream.url, operations })])
  })
  beforeEach(() => {
    upstream.calls.length = 0
    upstream.answers(() => Response.json({ sun: true }))
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await upstream.close()
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const bought = async (path = PATH) => sandbox.payer(PAYER).createCredential(await gateway.call(path))
  const paid = (credential: string, path = PATH, headers: Record<string, string> = {}) =>
    gateway.call(path, { headers: { ...headers, authorization: credential } })

  test('is served once for its price, and the credential buys nothing else', async () => {
    const credential = await bought()
    const amount = await moved(async () => {
      const answer = await paid(credential)
      expect([answer.status, await answer.json()]).toEqual([200, { sun: true }])
      expect(answer.headers.get('payment-receipt')).not.toBeNull()
      expect(answer.headers.get('cache-control')).toBe('private')
      expect((await paid(credential)).status).toBe(402)
      expect((await paid(await bought(), '/apis/v1/weather/v1/forecast?city=Rome')).status).toBe(402)
    })
    expect(amount).toBe(10_000n)
    expect(upstream.calls).toHaveLength(1)
    expect(JSON.stringify(upstream.calls)).not.toContain(credential.slice(8, 40))
  })

  test('may be asked for and paid for by clients that add other headers by themselves', async () => {
    const credential = await bought()
    expect((await paid(credential, PATH, { 'x-unit': 'F' })).status).toBe(402)
    const amount = await moved(async () => {
      const headers = { accept: 'application/json', 'accept-language': 'no', 'user-agent': 'payer' }
      expect((await paid(credential, PATH, headers)).status).toBe(200)
    })
    expect(amount).toBe(10_000n)
  })

  test('that fails moves no money, and the credential stays good', async () => {
    const credential = await bought()
    upstream.answers(() => new Response('', { status: 500 }))
    expect(await moved(async () => expect((await paid(credential)).status).toBe(502))).toBe(0n)
    upstream.answers(() => Response.json({ sun: true }))
    expect(await moved(async () => expect((await paid(credential)).status).toBe(200))).toBe(10_000n)
  })

  test("is in the operator's report, with the calls by key", async () => {
    const read = async () => {
      const answer = await gateway.control('/api-report')
      const [report] = ((await answer.json()) as ApiReport).apis
      if (!report) throw new Error('the API is not in the report')
      const { calls, served, failed, revenue_micros_usd, recent_calls } = report
      return { calls, served, failed, revenue_micros_usd, recent_calls }
    }
    const before = await read()
    const credential = await bought()
    expect((await paid(credential)).status).toBe(200)
    expect((await paid(credential)).status).toBe(402)
    const account = await gateway.account()
    const topUp = { account: account.id, part: 'paid', kind: 'top_up', amount: micros(100_000) } as const
    await gateway.core.ledger.credit({ ...topUp, description: 'test', reference: 'top-up' })
    const key = await gateway.key(account)
    expect((await gateway.as(key, PATH)).status).toBe(200)
    expect(await read()).toEqual({
      calls: before.calls + 2,
      served: before.served + 2,
      failed: before.failed,
      revenue_micros_usd: before.revenue_micros_usd + 20_000,
      recent_calls: before.recent_calls + 2,
    })
  })

  test('that an operator made free needs a key: there is no payment of zero', async () => {
    const operator = { kind: 'operator', id: 'test', address: null } as const
    await gateway.core.operator.setPrice(operator, 'weather.forecast', null, micros(0))
    const answer = await gateway.call(PATH)
    expect([answer.status, (await answer.json()).error.code]).toEqual([401, 'missing_api_key'])
    await gateway.core.operator.setPrice(operator, 'weather.forecast', null, null)
    expect((await gateway.call(PATH)).status).toBe(402)
  })

  test('is not offered where one of the headers of the API may be a credential', async () => {
    const [api] = gateway.core.apis.routes.apis
    if (!api) throw new Error('no API is on sale')
    const statusWith = async (headers: Record<string, string>) => {
      gateway.core.apis.replace([{ ...api, headers }])
      return (await gateway.call(PATH)).status
    }
    expect(await statusWith({ 'X-Api-Key': 'vendor-key-1' })).toBe(401)
    expect(await statusWith({ Accept: 'application/json' })).toBe(402)
    gateway.core.apis.replace([api])
  })

  test('is not offered where the upstream costs money or the call changes something', async () => {
    expect((await gateway.call('/apis/v1/weather/v1/dear')).status).toBe(401)
    expect((await gateway.call('/apis/v1/weather/v1/orders', { method: 'POST' })).status).toBe(401)
  })
})
