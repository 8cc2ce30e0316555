import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Challenge, Credential } from 'mppx'
import { cutOff, openPayingServer, PRICE } from '../support/payments/paying-server'

let server: Awaited<ReturnType<typeof openPayingServer>>
beforeAll(async () => {
  server = await openPayingServer()
})
afterAll(async () => {
  expect(await server.close()).toEqual([])
})

interface Message {
  readonly result?: { readonly structuredContent: { readonly type?: string }; readonly _meta: Record<string, unknown> }
  readonly error?: {
    readonly code: number
    readonly data: { readonly challenges: readonly Parameters<typeof Challenge.serialize>[0][] }
  }
}

/** One search over MCP, by nobody known. */
function search(credential?: unknown): Promise<Response> {
  const _meta = credential === undefined ? {} : { _meta: { 'org.paymentauth/credential': credential } }
  const params = { name: 'image_search', arguments: { q: 'card' }, ..._meta }
  return fetch(server.addressOf('/mcp/paid'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
}
const messageOf = async (answer: Response) => (await answer.json()) as Message

test.each([
  ['before the payment is sent', false],
  ['after the payment, before its reply', true],
])(
  'over MCP, killed %s: the same credential is served after the restart, and money moved once (spec-answers 10)',
  async (_, after) => {
    const before = await server.received()
    const [challenge] = (await messageOf(await search())).error?.data.challenges ?? []
    const headers = { 'www-authenticate': challenge ? Challenge.serialize(challenge) : '' }
    const credential = Credential.deserialize(await server.sandbox.buy(new Response(null, { status: 402, headers })))
    const reached = server.sandbox.freezeAt('eth_sendRawTransactionSync', after)
    const lost = cutOff(search(credential))
    await reached
    await server.kill('SIGKILL')
    expect(await lost).toBe('cut off')
    await server.start()
    const served = await messageOf(await search(credential))
    expect(served.result?.structuredContent.type).toBe('images')
    expect(served.result?._meta).toMatchObject({ 'org.paymentauth/receipt': { status: 'success' } })
    expect((await messageOf(await search(credential))).error?.code).toBe(-32043)
    expect((await server.received()) - before).toBe(PRICE)
  },
)
