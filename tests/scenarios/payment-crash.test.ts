import { afterAll, beforeAll, expect, test } from 'bun:test'
import { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { MERCHANT, openPaymentSandbox } from '../support/payment-sandbox'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, startServer } from '../support/server-process'

const PATH = '/apis/v1/websearch/images/search?q=card'
const PRICE = 5000n

let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
let folder: string
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

/** Where the process is killed: the question to the network that gets no answer, before or after the network saw it. */
const STEPS: readonly (readonly [string, string, boolean])[] = [
  ['while the credential is validated', 'eth_call', false],
  ['before the payment is sent', 'eth_sendRawTransactionSync', false],
  ['after the payment, before its reply', 'eth_sendRawTransactionSync', true],
]

/** Each server is the restart of the one that was killed before. */
let server: ServerProcess
const paying = (credential: string) => fetch(`${server.url}${PATH}`, { headers: { authorization: credential } })
const bought = async () => sandbox.payer().createCredential(await fetch(`${server.url}${PATH}`))
const codeOf = async (answer: Response) => ((await answer.json()) as { error?: { code: string } }).error?.code

test.each(STEPS)(
  'killed %s, the same credential is served after the restart, and money moved once (facts/payments 2)',
  async (_, method, after) => {
    const before = await sandbox.balance(MERCHANT)
    const credential = await bought()
    const reached = sandbox.freezeAt(method, after)
    const lost = paying(credential).then(
      () => 'answered',
      () => 'cut off',
    )
    await reached
    await server.kill('SIGKILL')
    expect(await lost).toBe('cut off')
    server = await start()
    const served = await paying(credential)
    expect([served.status, served.headers.has('payment-receipt')]).toEqual([200, true])
    const again = await paying(credential)
    expect([again.status, await codeOf(again)]).toEqual([402, 'invalid_challenge'])
    expect((await sandbox.balance(MERCHANT)) - before).toBe(PRICE)
  },
)

test('killed at any moment, a payment is taken once, and its credential is served or was', async () => {
  const before = await sandbox.balance(MERCHANT)
  const ROUNDS = 3
  for (let round = 0; round < ROUNDS; round++) {
    const credential = await bought()
    const lost = paying(credential).catch(() => null)
    await Bun.sleep(5 + round * 10)
    await server.kill('SIGKILL')
    await lost
    server = await start()
    const answer = await paying(credential)
    // 402: it had been served, and the answer may have been cut off on its way.
    if (answer.status !== 200) expect(await codeOf(answer)).toBe('invalid_challenge')
  }
  expect((await sandbox.balance(MERCHANT)) - before).toBe(PRICE * BigInt(ROUNDS))
})
