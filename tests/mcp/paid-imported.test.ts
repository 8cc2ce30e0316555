import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { type Challenge, Credential } from 'mppx'
import { endAndReconcile } from '../http/wire'
import { type McpAnswer, mcp } from '../support/agents/mcp'
import { type ApiUpstream, openApiUpstream } from '../support/api-upstream'
import { anApi, anOperation } from '../support/apis'
import type { Harness } from '../support/harness'
import { moneyMoved } from '../support/payments/money-moved'
import { openPayable } from '../support/payments/payable-harness'
import { MERCHANT, openPaymentSandbox } from '../support/payments/payment-sandbox'

const CREDENTIAL = 'org.paymentauth/credential'
const RECEIPT = 'org.paymentauth/receipt'
const TOOLS = ['search_operations', 'describe_operation', 'quote_operation', 'call_operation']

describe('more than 40 imported operations at /mcp/paid (spec D10, D12)', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let upstream: ApiUpstream
  let gateway: Harness

  const many = Array.from({ length: 41 }, (_, i) =>
    anOperation({ id: `op${i}`, path: `/v1/op${i}`, title: `Operation number ${i}`, toolName: `weather_op${i}` }),
  )
  const dear = anOperation({ id: 'dear', path: '/v1/dear', title: 'Operation with a bill', payPerRequest: false })
  const order = anOperation({ id: 'order', path: '/v1/orders', method: 'POST', effect: 'write' })

  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
    upstream = openApiUpstream()
    gateway = await openPayable(sandbox, { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' })
  })
  beforeEach(() => {
    upstream.calls.length = 0
    upstream.answers(() => Response.json({ sun: true }))
    gateway.core.apis.replace([anApi({ baseUrl: upstream.url, operations: [...many, dear, order] })])
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await upstream.close()
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const called = (name: string, input: object, more: object = {}, key: { id: string; secret: string } | null = null) =>
    mcp(gateway, key, 'tools/call', { name, arguments: input, ...more }, { path: '/mcp/paid' })
  const bought = async (operation: string) => {
    const { message } = await called('call_operation', { operation })
    const data = Object(message.error?.data) as { readonly challenges: Parameters<typeof Challenge.serialize>[0][] }
    const [challenge] = data.challenges
    if (!challenge) throw new Error('no challenge')
    return Credential.deserialize(await sandbox.wallet()[0].createCredential({ challenge } as never))
  }
  const paid = (credential: unknown, operation: string, input: object = {}) =>
    called('call_operation', { operation, input }, { _meta: { [CREDENTIAL]: credential } })
  const refusal = ({ message }: McpAnswer) => JSON.stringify(message.result?.content ?? message.error)

  test('are searched, described and quoted without a key, those that a payment buys only', async () => {
    const { message } = await mcp(gateway, null, 'tools/list', {}, { path: '/mcp/paid' })
    expect(message.result?.tools?.map(({ name }) => name)).toEqual(['image_search', 'llm_context', ...TOOLS])
    const found = await called('search_operations', { query: 'op7' })
    expect(found.message.result?.structuredContent).toMatchObject({ operations: [{ operation: 'weather.op7' }] })
    const others = await called('search_operations', { query: 'bill' })
    expect(others.message.result?.structuredContent).toEqual({ operations: [], gateway: { cost_micros_usd: 0 } })
    const described = await called('describe_operation', { operation: 'weather.op7' })
    expect(described.message.result?.structuredContent).toMatchObject({ title: 'Operation number 7' })
    const quoted = await called('quote_operation', { operation: 'weather.op7' })
    expect(quoted.message.result?.structuredContent).toMatchObject({ quote: { cost_micros_usd: 10_000 } })
    for (const operation of ['weather.dear', 'weather.order', 'weather.nothing'])
      for (const tool of ['describe_operation', 'quote_operation', 'call_operation'])
        expect(refusal(await called(tool, { operation }))).toContain('that search_operations returns')
    expect(upstream.calls).toEqual([])
  })

  test('are called once for one payment, which buys no other operation and no other input', async () => {
    const credential = await bought('weather.op7')
    expect(upstream.calls).toEqual([])
    const amount = await moved(async () => {
      expect((await paid(credential, 'weather.op8')).message.error?.code).toBe(-32043)
      expect(refusal(await paid(credential, 'weather.op7', { other: 1 }))).toContain('is not a parameter')
      const served = await paid(credential, 'weather.op7')
      expect(served.message.result?.structuredContent).toMatchObject({
        sun: true,
        gateway: { cost_micros_usd: 10_000 },
      })
      expect(served.message.result?._meta).toMatchObject({ [RECEIPT]: { status: 'success' } })
      expect((await paid(credential, 'weather.op7')).message.error?.code).toBe(-32043)
    })
    expect(amount).toBe(10_000n)
    expect(upstream.calls.map(({ target }) => target)).toEqual(['/v1/op7'])
  })

  test('are charged to the balance of a caller with a key, if the key may call them', async () => {
    const account = await gateway.account(5)
    const key = await gateway.key(account, { allowed_endpoints: ['weather.op7'] })
    const answer = await called('call_operation', { operation: 'weather.op7' }, {}, key)
    expect(answer.message.result?._meta).toMatchObject({ 'gateway/cost_micros_usd': 10_000 })
    expect(refusal(await called('call_operation', { operation: 'weather.op8' }, {}, key))).toContain(
      'insufficient_permissions',
    )
    expect(upstream.calls.map(({ target }) => target)).toEqual(['/v1/op7'])
  })
})
