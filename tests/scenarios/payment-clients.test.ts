import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { Challenge, Receipt } from 'mppx'
import { mppxCli, runBun } from '../support/payments/payment-programs'
import { reconcile } from '../support/reconcile'
import { dataFolder, removeFolder, type ServerProcess, SOURCE, startServer } from '../support/servers/server-process'

const PATH = '/apis/v1/websearch/images/search?q=card'

/** The clients that strangers come with, against the real server and its own sandbox chain. */
describe('payment clients', () => {
  let folder: string
  let server: ServerProcess
  let rpcUrl: string

  beforeAll(async () => {
    folder = await dataFolder()
    server = await startServer(folder, { PAYMENTS: 'sandbox' }, SOURCE)
    rpcUrl = (/MPPX_RPC_URL=(\S+)/.exec(await gateway('wallet', 'show')) ?? [])[1] ?? ''
  })
  afterAll(async () => {
    await server.kill('SIGTERM')
    expect((await reconcile(join(folder, 'gateway.db'))).problems).toEqual([])
    await removeFolder(folder)
  })

  async function gateway(...args: string[]): Promise<string> {
    const { code, out } = await runBun(['server/cli/main.ts', ...args], folder)
    expect(code, out).toBe(0)
    return out
  }
  const mppx = (...args: string[]) => mppxCli(folder, rpcUrl, args)

  test('the two commands of the README pay on chain and show answer and receipt', async () => {
    expect(await gateway('wallet', 'fund')).toContain('has 1.000000 USD')
    const out = await gateway('wallet', 'pay', `${server.url}${PATH}`)
    expect(out).toContain(`200 ${server.url}`)
    expect(out).toMatch(/receipt: \{"method":"tempo","status":"success","reference":"0x[0-9a-f]{64}"/)
    expect(out).toContain('"type":"images"')
  })

  test("the payment library's CLI pays and gets the result", async () => {
    const { code, out } = await mppx(`${server.url}${PATH}`, '-i')
    expect(code, out).toBe(0)
    expect(out).toContain('"type":"images"')
    const receipt = /payment-receipt: (\S+)/i.exec(out)?.[1] ?? ''
    expect(Receipt.deserialize(receipt)).toMatchObject({ method: 'tempo', status: 'success' })
  })

  test('mppx validate: discovery, every challenge and a payment succeed', async () => {
    const { code, out } = await mppx('validate', server.url, '-y', '--query', 'q=cats')
    const said = Bun.stripANSI(out)
    expect(said.slice(-3000)).toMatch(/Summary: \d+ passed$/m)
    expect(said).not.toContain('✗')
    expect(code, out).toBe(0)
  })

  test('the documents show the offer of the 402, and the realm is the host', async () => {
    const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      'x-service-info': { docs: { llms: string } }
      paths: Record<string, { get: { 'x-payment-info': { offers: { amount: string; currency: string }[] } } }>
    }
    const { request, realm } = Challenge.deserialize(
      (await fetch(`${server.url}${PATH}`)).headers.get('www-authenticate') ?? '',
    )
    const [offer] = document.paths['/apis/v1/websearch/images/search']?.get['x-payment-info'].offers ?? []
    expect([offer?.amount, offer?.currency]).toEqual([String(request['amount']), String(request['currency'])])
    expect(realm).toBe(new URL(server.url).hostname)
    expect(document['x-service-info'].docs.llms).toBe('/llms.txt')
    expect(await (await fetch(`${server.url}/llms.txt`)).text()).toContain(
      `0.005 USD or tempo 5000 of ${offer?.currency}`,
    )
  })
})
