import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Challenge, Receipt } from 'mppx'
import { EVM_CHAIN_ID, openEvmSandbox, TOKEN_NAME } from '../support/evm/evm-sandbox'
import { mppxCli, runBun } from '../support/payments/payment-programs'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, startServer } from '../support/servers/server-process'

const IMAGES = '/apis/v1/websearch/images/search?q=card'

/** The clients that strangers come with, against the real server: its own sandbox chain for `tempo`, a plain chain for `evm` and x402. */
describe('payment clients', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let folder: string
  let server: ServerProcess
  /** Of the sandbox chain. */
  let rpcUrl: string

  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    folder = await dataFolder()
    server = await startServer(folder, { ...sandbox.env, PAYMENTS: 'sandbox' })
    rpcUrl = (/MPPX_RPC_URL=(\S+)/.exec(await gateway('wallet', 'show')) ?? [])[1] ?? ''
  })
  afterAll(async () => {
    await server.kill('SIGTERM')
    expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
    await removeFolder(folder)
    await sandbox.close()
  })

  async function gateway(...args: string[]): Promise<string> {
    const { code, out } = await runBun(['server/cli/main.ts', ...args], folder)
    expect(code, out).toBe(0)
    return out
  }

  test('one 402 carries every offer: tempo, evm, and x402 for evm', async () => {
    const { headers, status } = await fetch(server.url + IMAGES)
    const offers = Challenge.deserializeList(headers.get('www-authenticate') ?? '')
    expect([status, offers.map(({ method }) => method)]).toEqual([402, ['tempo', 'evm']])
    const required = JSON.parse(atob(headers.get('payment-required') ?? ''))
    expect(required).toMatchObject({ x402Version: 2, accepts: [{ network: `eip155:${EVM_CHAIN_ID}`, amount: '5000' }] })
  })

  test('the two commands of the README pay on chain and show answer and receipt', async () => {
    expect(await gateway('wallet', 'fund')).toContain('has 1.000000 USD')
    const out = await gateway('wallet', 'pay', server.url + IMAGES)
    expect(out).toContain(`200 ${server.url}`)
    expect(out).toMatch(/receipt: \{"method":"tempo","status":"success","reference":"0x[0-9a-f]{64}"/)
    expect(out).toContain('"type":"images"')
  })

  test("the payment library's CLI pays and gets the result", async () => {
    const { code, out } = await mppxCli(folder, rpcUrl, [server.url + IMAGES, '-i'])
    expect(code, out).toBe(0)
    expect(out).toContain('"type":"images"')
    const receipt = /payment-receipt: (\S+)/i.exec(out)?.[1] ?? ''
    expect(Receipt.deserialize(receipt)).toMatchObject({ method: 'tempo', status: 'success' })
  })

  test('the documents show both offers as in the 402, and x402, and the realm is the host', async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      'x-service-info': { docs: { llms: string } }
      paths: Record<string, { get: { 'x-payment-info': { offers: Record<string, string>[] } } }>
    }
    const [path] = IMAGES.split('?')
    const { offers } = document.paths[path ?? '']?.get['x-payment-info'] ?? { offers: [] }
    const challenges = Challenge.deserializeList(
      (await fetch(server.url + IMAGES)).headers.get('www-authenticate') ?? '',
    )
    expect(offers.map(({ method, amount, currency }) => [method, amount, currency])).toEqual(
      challenges.map(({ method, request }) => [method, String(request['amount']), String(request['currency'])]),
    )
    expect(challenges.map(({ realm }) => realm)).toEqual(Array(2).fill(new URL(server.url).hostname))
    expect(offers[1]?.['description']).toContain('x402')
    expect(document['x-service-info'].docs.llms).toBe('/llms.txt')
    const guide = await (await fetch(`${server.url}/llms.txt`)).text()
    expect(guide).toContain(`0.005 USD or tempo 5000 of ${offers[0]?.['currency']}`)
    expect(guide).toContain(`evm 5000 of ${offers[1]?.['currency']}`)
    expect(guide).toContain('PAYMENT-SIGNATURE')
  })

  test('mppx validate: discovery, every challenge of both kinds of money, including x402, and a payment by each succeed', async () => {
    const { code, out } = await mppxCli(folder, rpcUrl, ['validate', server.url, '-y', '--query', 'q=cats'], {
      MPPX_EVM_TOKEN: sandbox.token,
      MPPX_EVM_CHAIN_ID: String(EVM_CHAIN_ID),
      MPPX_EVM_TOKEN_NAME: TOKEN_NAME,
    })
    const said = Bun.stripANSI(out)
    expect(said.slice(-3000)).toMatch(/Summary: \d+ passed$/m)
    expect(said).not.toContain('✗')
    expect(said).toContain('✓ Payment [evm]: submitted')
    expect(said).toContain('✓ x402 payment challenge')
    expect(code, out).toBe(0)
  })

  test('an incomplete configuration ends the start with one line that names what is missing', async () => {
    const { PAYMENTS_EVM_RELAYER_KEY: _, ...half } = sandbox.env
    const ended = await startServer(folder, { ...half, PAYMENTS: 'evm' }).then(
      () => 'it started',
      (error: Error) => error.message,
    )
    expect(ended).toContain('PAYMENTS_EVM_RELAYER_KEY not set; payments by evm need')
    expect(ended).not.toContain('    at ')
  })
})
