import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { Challenge, Credential } from 'mppx'
import { stuckWrite } from '../support/databases/stuck-write'
import { searxngDouble } from '../support/doubles/searxng-server'
import { codeOf, cutOff, openPayingServer, PRICE } from '../support/payments/paying-server'
import { until } from '../support/until'

setDefaultTimeout(120_000)

/**
 * Between the steps of a payment that ask the network nothing: while the upstream works, and while the answer waits for its row. After its caller
 * hung up. And over MCP, at the steps that ask the network.
 */
let questions = 0
const searxng = searxngDouble(() => {
  questions++
  return { results: [{ url: 'https://example.org/', img_src: 'https://example.org/i.png' }] }
})
let server: Awaited<ReturnType<typeof openPayingServer>>
beforeAll(async () => {
  server = await openPayingServer({ WEBSEARCH_PROVIDER: 'searxng', SEARXNG_URL: searxng.url })
})
afterAll(async () => {
  expect(await server.close()).toEqual([])
  await searxng.stop()
})

test('killed during the upstream call, nothing moved, and the same credential is served after the restart', async () => {
  const before = await server.received()
  const credential = await server.bought()
  const asked = Promise.withResolvers<void>()
  searxng.instead = ({ path }) => {
    if (path === '/search') asked.resolve()
    return new Promise<Response>(() => undefined)
  }
  const lost = cutOff(server.paying(credential))
  await asked.promise
  expect(await server.states()).toEqual({ working: 1 })
  await server.kill('SIGKILL')
  expect(await lost).toBe('cut off')
  expect(await server.received()).toBe(before)
  searxng.reset()
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  expect((await server.received()) - before).toBe(PRICE)
})

test('killed between the transfer and the answer, the same credential is served free, once', async () => {
  await server.kill('SIGTERM')
  const gap = await stuckWrite(server.databaseFile, 'payments', "NEW.state = 'served'")
  await server.start()
  const before = await server.received()
  const credential = await server.bought()
  const lost = cutOff(server.paying(credential))
  await until(async () => (await server.states())['settled'] !== undefined)
  await server.kill('SIGKILL')
  expect(await lost).toBe('cut off')
  await gap.undo()
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  const again = await server.paying(credential)
  expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
  expect((await server.received()) - before).toBe(PRICE)
})

test('a connection that closes during its payment: one upstream call, one payment, and its answer for whoever presents it again, also after a kill', async () => {
  const asked = questions
  expect((await server.paying(await server.bought())).status).toBe(200)
  const each = questions - asked
  const before = await server.received()
  const credential = await server.bought()
  const gone = new AbortController()
  const sent = server.sandbox.freezeAt('eth_sendRawTransactionSync', true)
  const lost = cutOff(server.paying(credential, server.sandbox, gone.signal))
  await sent
  gone.abort()
  expect(await lost).toBe('cut off')
  await until(async () => (await server.states())['paid_unserved'] !== undefined)
  await server.kill('SIGKILL')
  await server.start()
  const served = await server.paying(credential)
  expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
  const again = await server.paying(credential)
  expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
  expect([(await server.received()) - before, questions - asked]).toEqual([PRICE, 2 * each])
})

interface Message {
  readonly result?: { readonly structuredContent: { readonly type?: string }; readonly _meta: Record<string, unknown> }
  readonly error?: {
    readonly code: number
    readonly data: { readonly challenges: readonly Parameters<typeof Challenge.serialize>[0][] }
  }
}

/** One search over MCP, without an account. */
function searchViaMcp(credential?: unknown): Promise<Response> {
  const _meta = credential === undefined ? {} : { _meta: { 'org.paymentauth/credential': credential } }
  const params = { name: 'image_search', arguments: { q: 'card' }, ..._meta }
  return fetch(server.addressOf('/mcp/paid'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
}
const messageOf = async (answer: Response) => (await answer.json()) as Message

test('over MCP, killed after one payment and before another is sent: both credentials are served after the restart, and money moved once for each (spec D10)', async () => {
  const before = await server.received()
  const payments: { credential: unknown; lost: Promise<string> }[] = []
  for (const after of [true, false]) {
    const [challenge] = (await messageOf(await searchViaMcp())).error?.data.challenges ?? []
    const headers = { 'www-authenticate': challenge ? Challenge.serialize(challenge) : '' }
    const credential = Credential.deserialize(await server.sandbox.buy(new Response(null, { status: 402, headers })))
    const reached = server.sandbox.freezeAt('eth_sendRawTransactionSync', after)
    payments.push({ credential, lost: cutOff(searchViaMcp(credential)) })
    await reached
  }
  await server.kill('SIGKILL')
  await server.start()
  for (const { credential, lost } of payments) {
    expect(await lost).toBe('cut off')
    const served = await messageOf(await searchViaMcp(credential))
    expect(served.result?.structuredContent.type).toBe('images')
    expect(served.result?._meta).toMatchObject({ 'org.paymentauth/receipt': { status: 'success' } })
    expect((await messageOf(await searchViaMcp(credential))).error?.code).toBe(-32043)
  }
  expect((await server.received()) - before).toBe(2n * PRICE)
})
