import { afterAll, beforeAll, expect, test } from 'bun:test'
import { Credential } from 'mppx'
import { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { MERCHANT, openPaymentSandbox } from '../support/payment-sandbox'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, startServer } from '../support/server-process'

let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
let folder: string
let server: ServerProcess
beforeAll(async () => {
  sandbox = await openPaymentSandbox()
  folder = await dataFolder()
  server = await start()
})
afterAll(async () => {
  await server.kill('SIGTERM')
  expect((await reconcile(`${folder}/gateway.db`)).problems).toEqual([])
  await removeFolder(folder)
  await sandbox.close()
})

const start = () =>
  startServer(folder, {
    PAYMENTS_RPC_URL: sandbox.nodeUrl,
    PAYMENTS_CHAIN_ID: String(SANDBOX_CHAIN_ID),
    PAYMENTS_TOKEN: SANDBOX_TOKEN,
    PAYMENTS_RECIPIENT: MERCHANT,
  })

interface Message {
  readonly result?: { readonly structuredContent: { readonly type?: string }; readonly _meta: Record<string, unknown> }
  readonly error?: { readonly code: number; readonly data: { readonly challenges: readonly unknown[] } }
}

/** One search over MCP, by nobody known. */
async function search(credential?: unknown): Promise<Message> {
  const _meta = credential === undefined ? {} : { _meta: { 'org.paymentauth/credential': credential } }
  const params = { name: 'image_search', arguments: { q: 'card' }, ..._meta }
  const answer = await fetch(`${server.url}/mcp/paid`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
  })
  return (await answer.json()) as Message
}

test.each([
  ['before the payment is sent', false],
  ['after the payment, before its reply', true],
])(
  'over MCP, killed %s: the same credential is served after the restart, and money moved once (spec-answers 10)',
  async (_, after) => {
    const before = await sandbox.balance(MERCHANT)
    const [challenge] = (await search()).error?.data.challenges ?? []
    const credential = Credential.deserialize(await sandbox.wallet()[0].createCredential({ challenge } as never))
    const reached = sandbox.freezeAt('eth_sendRawTransactionSync', after)
    const lost = search(credential).then(
      () => 'answered',
      () => 'cut off',
    )
    await reached
    await server.kill('SIGKILL')
    expect(await lost).toBe('cut off')
    server = await start()
    const served = await search(credential)
    expect(served.result?.structuredContent.type).toBe('images')
    expect(served.result?._meta).toMatchObject({ 'org.paymentauth/receipt': { status: 'success' } })
    expect((await search(credential)).error?.code).toBe(-32043)
    expect((await sandbox.balance(MERCHANT)) - before).toBe(5000n)
  },
)
