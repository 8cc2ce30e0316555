import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Challenge, Credential } from 'mppx'
import { McpClient } from 'mppx/mcp-sdk/client'
import type { PrivateKeyAccount } from 'viem/accounts'
import { SANDBOX_TOKEN } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { err, ok } from '../../server/core/result'
import { endAndReconcile, IMAGES_CALL } from '../http/wire'
import { type McpAnswer, mcp } from '../support/agents/mcp'
import { type Harness, openHarness } from '../support/harness'
import { moneyMoved } from '../support/payments/money-moved'
import { MERCHANT, openPaymentSandbox, PAYER } from '../support/payments/payment-sandbox'

const PATH = '/mcp/paid'
const PRICE_UNITS = 5000n
const SEARCH = { name: 'image_search', arguments: { q: 'card' } }
const CREDENTIAL = 'org.paymentauth/credential'
const RECEIPT = 'org.paymentauth/receipt'

let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
let gateway: Harness

const opened = async (
  more: Record<string, string> = {},
  clock: { readonly running?: true; readonly now?: number; readonly folder?: string } = { running: true },
) => {
  const made = await openHarness({
    ...clock,
    env: { ...sandbox.env, PAYMENTS_ATTEMPTS_RPM: '1000000', ANON_RPM: '1000000', ...more },
  })
  await made.gateway.rail.open()
  return made
}
beforeAll(async () => {
  sandbox = await openPaymentSandbox()
  gateway = await opened()
})
beforeEach(() => {
  sandbox.setFault('ok')
  gateway.images.answer = async () => ok({ body: '{"results":[]}' })
})
afterAll(async () => {
  await endAndReconcile(gateway)
  await sandbox.close()
})

const moved = moneyMoved(() => sandbox.balance(MERCHANT))

/** A call of a tool without an account. */
const called = (params: Record<string, unknown> = SEARCH, to = gateway) =>
  mcp(to, null, 'tools/call', params, { path: PATH })

type ChallengeJson = Parameters<typeof Challenge.serialize>[0]
interface Asked {
  readonly httpStatus: number
  readonly challenges: readonly ChallengeJson[]
  readonly problem: Record<string, unknown>
}
const asked = ({ message }: McpAnswer): Asked => message.error?.data as Asked

/** A credential for a call, as a payer makes it from what the error says. */
async function bought(params: Record<string, unknown> = SEARCH, payer: PrivateKeyAccount = PAYER) {
  const [challenge] = asked(await called(params)).challenges
  if (!challenge) throw new Error('no challenge')
  return Credential.deserialize(await sandbox.wallet(payer)[0].createCredential({ challenge } as never))
}
const paid = (credential: unknown, params: Record<string, unknown> = SEARCH, to = gateway) =>
  called({ ...params, _meta: { [CREDENTIAL]: credential } }, to)

/** The outcome of a call, in one line; `+challenge`: it invites to pay. */
function verdict({ status, message }: McpAnswer): string {
  const error = (message.result?.structuredContent?.['error'] ?? null) as { code: string } | null
  const data = message.error?.data as Asked | undefined
  const invites = (data?.challenges.length ?? 0) > 0 ? ' +challenge' : ''
  if (status !== 200) return `http ${status}`
  if (message.error) return `${message.error.code} ${String(data?.problem['type']).split('/').at(-1)}${invites}`
  return error ? error.code : 'ok'
}

async function agent(payer: PrivateKeyAccount = PAYER) {
  const fetching = (input: string | URL, init?: RequestInit) => {
    const url = new URL(input)
    return gateway.call(url.pathname, init)
  }
  const client = new Client({ name: 'a wallet', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(PATH, gateway.config.baseUrl), { fetch: fetching })
  await client.connect(transport as Parameters<Client['connect']>[0])
  return McpClient.wrap(client, { methods: [sandbox.wallet(payer)] })
}

describe('a caller without an account (spec D10)', () => {
  test('is refused at /mcp, and at /mcp/paid sees the data tools with their prices', async () => {
    expect((await mcp(gateway, null, 'tools/list')).status).toBe(401)
    const { status, message, headers } = await mcp(gateway, null, 'tools/list', {}, { path: PATH })
    expect(status).toBe(200)
    expect(message.result?.tools?.map(({ name }) => name)).toEqual(['image_search', 'llm_context'])
    expect(message.result?.tools?.[0]?.description).toContain('Costs 0.005 USD')
    expect(headers.get('x-ratelimit-limit-requests')).not.toBeNull()
  })

  test('gets a protocol error that says what to pay: nothing ran, nothing moved', async () => {
    const before = gateway.images.asked.length
    const answer = await called()
    expect(answer.message.error?.code).toBe(-32042)
    expect(asked(answer)).toMatchObject({
      httpStatus: 402,
      challenges: [
        {
          method: 'tempo',
          intent: 'charge',
          request: { amount: '5000', currency: SANDBOX_TOKEN, recipient: MERCHANT },
        },
      ],
      problem: { type: 'https://paymentauth.org/problems/payment-required', status: 402 },
    })
    expect(asked(answer).challenges[0]?.description).toMatch(/API key.*payment challenge/)
    expect(gateway.images.asked.length).toBe(before)
  })

  test('pays with the official MCP payment client, and gets result, receipt and cost; the money moves once', async () => {
    const client = await agent()
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('image_search')
    let result: Awaited<ReturnType<typeof client.callTool>> | undefined
    const amount = await moved(async () => {
      result = await client.callTool(SEARCH)
    })
    expect(amount).toBe(PRICE_UNITS)
    const claim = await gateway.core.stores.paymentClaims.find(String(result?.receipt?.challengeId))
    expect(claim).toMatchObject({ state: 'served', operation: 'image-search', payer: PAYER.address.toLowerCase() })
    expect(result?.receipt).toMatchObject({
      method: 'tempo',
      status: 'success',
      reference: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      challengeId: expect.any(String),
    })
    expect(result?.['structuredContent']).toMatchObject({ results: [], gateway: { cost_micros_usd: 5000 } })
    expect(result?.['_meta']).toMatchObject({ 'gateway/cost_micros_usd': 5000, 'gateway/untrusted': true })
    await client.close()
  })

  test('gets the broken rule, not a price, for an invalid request', async () => {
    expect(verdict(await called({ name: 'image_search', arguments: {} }))).toBe('missing_parameter')
    expect(verdict(await called({ name: 'post_social', arguments: { content: 'x' } }))).toBe('-32602 undefined')
  })
})

describe('a credential in _meta', () => {
  test('buys one call: no other arguments, no other tool, and not twice', async () => {
    const credential = await bought()
    const other = { name: 'image_search', arguments: { q: 'another' } }
    expect(verdict(await paid(credential, other))).toBe('-32043 invalid-challenge +challenge')
    expect(verdict(await paid(credential, { name: 'llm_context', arguments: { q: 'card' } }))).toBe(
      '-32043 invalid-challenge +challenge',
    )
    expect(verdict(await paid(credential))).toBe('ok')
    const again = await moved(async () =>
      expect(verdict(await paid(credential))).toBe('-32043 invalid-challenge +challenge'),
    )
    expect(again).toBe(0n)
  })

  test('is the same as over HTTP: bought there it works here once, and nowhere afterwards', async () => {
    const header = await sandbox.payer().createCredential(await gateway.call(IMAGES_CALL))
    const credential = Credential.deserialize(header)
    const before = await sandbox.balance(MERCHANT)
    expect(verdict(await paid(credential))).toBe('ok')
    expect((await gateway.call(IMAGES_CALL, { headers: { authorization: header } })).status).toBe(402)
    expect((await sandbox.balance(MERCHANT)) - before).toBe(PRICE_UNITS)
  })

  test('is the same credential whatever the order of its members', async () => {
    const credential = await bought()
    gateway.images.answer = async () => err({ kind: 'unavailable', reason: 'away' })
    expect(verdict(await paid(credential))).toBe('upstream_unavailable')
    gateway.images.answer = async () => ok({ body: '{}' })
    const { challenge, payload, source } = credential
    const turned = { source, payload, challenge: Object.fromEntries(Object.entries(challenge).reverse()) }
    expect(verdict(await paid(turned))).toBe('ok')
  })

  test.each([
    ['no credential at all', 'nonsense'],
    ['null', null],
    ['an object without a challenge', { payload: {} }],
    ['a challenge that is none', { challenge: { id: 'x' }, payload: {} }],
  ])('that is %s is malformed: -32602, with a fresh challenge', async (_what, credential) => {
    expect(verdict(await paid(credential))).toBe('-32602 malformed-credential +challenge')
  })

  test.each<[string, (honest: Awaited<ReturnType<typeof bought>>) => unknown, string]>([
    ['whose payload is no transfer', (c) => ({ ...c, payload: { a: 1 } }), '-32602 invalid-payload'],
    [
      'of another price',
      (c) => changed(c, { request: { ...c.challenge.request, amount: '1' } }),
      '-32043 invalid-challenge',
    ],
    ['of a later end', (c) => changed(c, { expires: '2099-01-01T00:00:00.000Z' }), '-32043 invalid-challenge'],
    ['of a method that is not offered', (c) => changed(c, { method: 'barter' }), '-32043 invalid-challenge'],
    ['of somebody else’s challenge', (c) => changed(c, { id: 'x'.repeat(43) }), '-32043 invalid-challenge'],
  ])('%s is refused, with a fresh challenge', async (_what, lie, expected) => {
    const none = await moved(async () =>
      expect(verdict(await paid(lie(await bought())))).toBe(`${expected} +challenge`),
    )
    expect(none).toBe(0n)
  })
})

describe('a caller with a key', () => {
  test('that cannot pay gets a failure its model can read, with a challenge, and may pay that one call', async () => {
    const account = await gateway.account(1)
    const key = await gateway.key(account, { spending_limit: 0.001 })
    const refused = await mcp(gateway, key, 'tools/call', SEARCH)
    expect(verdict(refused)).toBe('insufficient_api_key_balance')
    const offered = refused.message.result?._meta?.['org.paymentauth/payment-required'] as Asked
    const credential = Credential.deserialize(
      await sandbox.wallet()[0].createCredential({ challenge: offered.challenges[0] } as never),
    )
    const before = (await gateway.core.ledger.balance(account.id))!.posted
    const answer = await mcp(gateway, key, 'tools/call', { ...SEARCH, _meta: { [CREDENTIAL]: credential } })
    expect(verdict(answer)).toBe('ok')
    expect(answer.message.result?._meta?.[RECEIPT]).toMatchObject({ status: 'success' })
    expect((await gateway.core.ledger.balance(account.id))!.posted).toBe(before)
  })

  test('is served at /mcp/paid too, from its balance', async () => {
    const account = await gateway.account(1)
    const key = await gateway.key(account)
    const balance = async () => (await gateway.core.ledger.balance(account.id))!.posted
    const before = await balance()
    expect(verdict(await mcp(gateway, key, 'tools/call', SEARCH, { path: PATH }))).toBe('ok')
    expect(before - (await balance())).toBe(5000)
  })

  test('that is unknown is 401, with where to get a token for the MCP server', async () => {
    const { status, headers } = await mcp(gateway, `gwk_${'a'.repeat(49)}`, 'tools/list', {}, { path: PATH })
    expect(status).toBe(401)
    expect(headers.get('www-authenticate')).toContain('/.well-known/oauth-protected-resource/mcp"')
  })
})

describe('the rate of an address (spec D9)', () => {
  test('limits callers who pay nothing, and no valid payment', async () => {
    // A clock that stands still at the chain's time: no minute ends in between.
    const slow = await opened({ ANON_RPM: '2', PAYMENTS_ATTEMPTS_RPM: '1' }, { now: Date.now() })
    slow.images.answer = async () => ok({ body: '{}' })
    const challenges = [await called(SEARCH, slow), await called(SEARCH, slow)].map((one) => asked(one).challenges[0])
    expect((await called(SEARCH, slow)).status).toBe(429)
    expect((await mcp(slow, null, 'tools/list', {}, { path: PATH })).status).toBe(429)
    expect((await slow.call(PATH, { method: 'POST', body: 'no JSON' })).status).toBe(429)
    for (const challenge of challenges) {
      const credential = await sandbox.wallet()[0].createCredential({ challenge } as never)
      expect(verdict(await paid(Credential.deserialize(credential), SEARCH, slow))).toBe('ok')
    }
    expect(verdict(await paid({ challenge: {} }, SEARCH, slow))).toBe('-32602 malformed-credential +challenge')
    expect(verdict(await paid({ challenge: {} }, SEARCH, slow))).toBe('rate_limit_exceeded')
    await endAndReconcile(slow)
  })

  test('counts a message whose credential never reaches a call: wrong arguments, no id, no accepted media type', async () => {
    const slow = await opened({ ANON_RPM: '3', PAYMENTS_ATTEMPTS_RPM: '1' }, { now: Date.now() })
    const wrong = { ...SEARCH, arguments: { nope: 1 }, _meta: { [CREDENTIAL]: {} } }
    const right = { ...SEARCH, _meta: { [CREDENTIAL]: {} } }
    const sent = (params: Record<string, unknown>, init: { id?: null; headers?: Record<string, string> } = {}) =>
      mcp(slow, null, 'tools/call', params, { path: PATH, ...init })
    expect(verdict(await sent(wrong))).toBe('invalid_parameter')
    expect((await sent(right, { id: null })).status).toBe(202)
    expect((await sent(right, { headers: { accept: 'text/plain' } })).status).toBe(406)
    expect((await sent(wrong)).status).toBe(429)
    expect((await called(SEARCH, slow)).status).toBe(429)
    await endAndReconcile(slow)
  })
})

test('where no payment is possible, the price and how to get a key are returned, as every failure of a tool', async () => {
  const off = await openHarness({ env: { PAYMENTS: 'off' } })
  const answer = await called(SEARCH, off)
  expect(verdict(answer)).toBe('payment_required')
  expect(answer.message.result?.content?.[0]?.text).toContain('0.005 USD')
  await endAndReconcile(off)
})

function changed(credential: Awaited<ReturnType<typeof bought>>, more: Record<string, unknown>) {
  return { ...credential, challenge: { ...credential.challenge, ...more } }
}
