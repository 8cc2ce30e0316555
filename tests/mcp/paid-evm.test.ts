import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Challenge, Credential } from 'mppx'
import { endAndReconcile } from '../http/wire'
import { mcp } from '../support/agents/mcp'
import { openEvmSandbox } from '../support/evm/evm-sandbox'
import { type Harness, openHarness } from '../support/harness'
import { MERCHANT } from '../support/payments/payment-sandbox'

let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
let gateway: Harness
beforeAll(async () => {
  sandbox = await openEvmSandbox()
  gateway = await openHarness({ running: true, env: { ...sandbox.env, ANON_RPM: '1000000' } })
  await gateway.gateway.rail.open()
})
afterAll(async () => {
  await endAndReconcile(gateway)
  await sandbox.close()
})

const search = (more: Record<string, unknown> = {}) =>
  mcp(gateway, null, 'tools/call', { name: 'image_search', arguments: { q: 'card' }, ...more }, { path: '/mcp/paid' })

test('every method offered over HTTP is offered over MCP, and its credential is accepted once', async () => {
  const data = (await search()).message.error?.data
  const challenges = (Reflect.get(Object(data), 'challenges') ?? []) as Parameters<typeof Challenge.serialize>[0][]
  expect(challenges.map(({ method }) => method)).toEqual(['evm'])
  const headers = { 'www-authenticate': challenges.map((challenge) => Challenge.serialize(challenge)).join(', ') }
  const text = await sandbox.payer().createCredential(new Response(null, { status: 402, headers }))
  const paid = { _meta: { 'org.paymentauth/credential': Credential.deserialize(text) } }
  const before = await sandbox.balance(MERCHANT)
  const { message } = await search(paid)
  expect(message.result?._meta?.['org.paymentauth/receipt']).toMatchObject({ method: 'evm', status: 'success' })
  expect((await search(paid)).message.error?.code).toBe(-32043)
  expect((await sandbox.balance(MERCHANT)) - before).toBe(5000n)
})
