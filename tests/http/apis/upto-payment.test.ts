import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { wrapFetchWithPayment } from '@x402/fetch'
import { getAddress } from 'viem'
import { micros } from '../../../server/core/money'
import { type ApiUpstream, openApiUpstream } from '../../support/api-upstream'
import { anApi, anOperation } from '../../support/apis'
import { EVM_CHAIN_ID, openEvmSandbox, RELAYER, TOKEN_NAME, TOKEN_VERSION } from '../../support/evm/evm-sandbox'
import type { Harness } from '../../support/harness'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'
import { endAndReconcile } from '../wire'

const PATH = '/apis/v1/weather/v1/forecast'
const SECRET = 'a secret that only this test knows, 32 bytes and more'

describe("an imported operation whose price follows from its answer, paid by x402's upto", () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let upstream: ApiUpstream
  let gateway: Harness

  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    await Promise.all([sandbox.placeUptoContracts(), sandbox.approve()])
    upstream = openApiUpstream()
    gateway = await openPayable(sandbox, { PAYMENTS_SECRET: SECRET, ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1' })
    const units = { mode: 'units', amount: micros(10_000), block: 1, onMissing: null } as const
    const counted = { ...units, figure: { kind: 'pointer', pointer: '/results' }, minimum: 1, maximum: 10 } as const
    const reported = { mode: 'reported', figure: { kind: 'pointer', pointer: '/cost' }, unit: 'usd' } as const
    const billed = {
      ...reported,
      multiplier: '1',
      minimum: micros(5000),
      maximum: micros(50_000),
      onMissing: null,
    } as const
    const city = { name: 'city', in: 'query', required: false, description: '', style: 'form', explode: true } as const
    gateway.core.apis.replace([
      anApi({
        baseUrl: upstream.url,
        operations: [
          anOperation({ price: counted, parameters: [{ ...city, schema: { type: 'string' } }] }),
          anOperation({ id: 'billed', path: '/v1/billed', price: billed }),
          anOperation({ id: 'cheap', path: '/v1/cheap', price: { ...counted, minimum: 0 } }),
          anOperation({ id: 'stream', path: '/v1/stream', price: counted, answer: 'stream' }),
          anOperation({ id: 'dear', path: '/v1/dear', price: counted, payPerRequest: false }),
        ],
      }),
    ])
  })
  beforeEach(() => {
    sandbox.setFault('ok')
    upstream.calls.length = 0
    upstream.answers(() => Response.json({ results: [1, 2, 3] }))
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await upstream.close()
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const requiredIn = (answer: Response) => answer.headers.get('payment-required') ?? ''
  const bought = async (path = PATH, payer = PAYER) =>
    sandbox.uptoSignature(requiredIn(await gateway.call(path)), payer)
  const paid = (payment: string, path = PATH) => gateway.call(path, { headers: { 'payment-signature': payment } })
  async function verdict(answer: Response): Promise<string> {
    const { error } = (await answer.json()) as { error?: { code: string } }
    return `${answer.status} ${error?.code ?? 'ok'}${requiredIn(answer) ? ' +x402' : ''}`
  }

  test('the 402 names the maximum, the scheme and who settles; there is no challenge of a fixed amount', async () => {
    const answer = await gateway.call(PATH)
    expect(answer.status).toBe(402)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gateway"')
    const { accepts, resource } = JSON.parse(atob(requiredIn(answer)))
    expect(accepts).toEqual([
      {
        scheme: 'upto',
        network: `eip155:${EVM_CHAIN_ID}`,
        amount: '100000',
        maxTimeoutSeconds: 300,
        asset: getAddress(sandbox.token),
        payTo: getAddress(MERCHANT),
        extra: {
          name: TOKEN_NAME,
          version: TOKEN_VERSION,
          assetTransferMethod: 'permit2',
          facilitatorAddress: getAddress(RELAYER.address),
        },
      },
    ])
    expect(resource.url).toEndWith(PATH)
    const { error } = await answer.json()
    expect(error).toMatchObject({ code: 'payment_required', message: expect.stringContaining('at most 0.1 USD') })
    expect(error.price).toBeUndefined()
  })

  test('the true price is settled before the answer: units, and what the upstream reports', async () => {
    const amount = await moved(async () => {
      const answer = await paid(await bought())
      expect([answer.status, await answer.json()]).toEqual([200, { results: [1, 2, 3] }])
      expect(answer.headers.get('x-cost-micros-usd')).toBe('30000')
      expect(answer.headers.get('payment-receipt')).not.toBeNull()
      const response = JSON.parse(atob(answer.headers.get('payment-response') ?? ''))
      expect(response).toMatchObject({ success: true, amount: '30000', payer: PAYER.address.toLowerCase() })
    })
    expect(amount).toBe(30_000n)
    upstream.answers(() => Response.json({ cost: 0.0123 }))
    const billed = '/apis/v1/weather/v1/billed'
    expect(await moved(async () => expect((await paid(await bought(billed), billed)).status).toBe(200))).toBe(12_300n)
  })

  test('the official client pays end to end', async () => {
    const calling: typeof fetch = Object.assign(
      async (input: string | URL | Request, init?: RequestInit) => {
        const request = new Request(input, init)
        const { pathname, search } = new URL(request.url)
        return gateway.call(pathname + search, { headers: request.headers })
      },
      { preconnect: fetch.preconnect },
    )
    const amount = await moved(async () => {
      const answer = await wrapFetchWithPayment(calling, sandbox.upto())(`http://localhost${PATH}`)
      expect([answer.status, await answer.json()]).toEqual([200, { results: [1, 2, 3] }])
    })
    expect(amount).toBe(30_000n)
  })

  test('a payer without gas signs the approval of Permit2 along; the gateway pays for it', async () => {
    const payer = stranger()
    await sandbox.mint(payer.address, 1_000_000n)
    const poor = await bought(PATH, payer)
    expect(await verdict(await paid(poor))).toBe('402 verification_failed +x402')
    const payment = await sandbox.uptoSignature(requiredIn(await gateway.call(PATH)), payer, sandbox.chainUrl)
    expect(await moved(async () => expect((await paid(payment)).status).toBe(200))).toBe(30_000n)
  })

  test('one payment buys one answer, also sent twenty times at once, and for no other request', async () => {
    const payment = await bought()
    const amount = await moved(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => paid(payment)))
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(await verdict(await paid(payment))).toBe('402 invalid_challenge +x402')
      expect((await paid(await bought(), `${PATH}?city=Rome`)).status).toBe(402)
    })
    expect(amount).toBe(30_000n)
    expect(upstream.calls).toHaveLength(1)
  })

  test('a key without money is offered it too, and pays by it in a call with its key; a quote and a maximum price come first', async () => {
    const key = await gateway.key(await gateway.account())
    const refused = await gateway.as(key, PATH)
    expect(await verdict(refused.clone())).toBe('402 insufficient_balance +x402')
    const payment = await sandbox.uptoSignature(requiredIn(refused))
    const paying = { authorization: `Bearer ${key.secret}`, 'payment-signature': payment }
    const low = { headers: { ...paying, 'x-max-price-usd': '0.09' } }
    const amount = await moved(async () => {
      expect(await verdict(await gateway.call(PATH, low))).toBe('412 estimated_price_exceeds_max_price')
      const quote = await gateway.call(PATH, { headers: { 'x-cost-mode': 'quote' } })
      expect([quote.status, upstream.calls.length]).toEqual([200, 0])
      expect((await gateway.call(PATH, { headers: paying })).status).toBe(200)
    })
    expect(amount).toBe(30_000n)
  })

  test('an upstream that claims more than the maximum gets no more than was signed', async () => {
    upstream.answers(() => Response.json({ results: 4000 }))
    expect(await moved(async () => expect((await paid(await bought())).status).toBe(200))).toBe(100_000n)
  })

  test('is not offered for streams, for an upstream that costs, or where the least price is below that of a settlement', async () => {
    for (const path of ['/v1/stream', '/v1/dear', '/v1/cheap'])
      expect([path, (await gateway.call(`/apis/v1/weather${path}`)).status]).toEqual([path, 401])
  })

  test('the API document, the catalog and /.well-known/x402 say so', async () => {
    const document = await (await gateway.call('/openapi.json')).json()
    expect(document.paths[PATH].get).toMatchObject({
      'x-price-limits': { currency: 'USD', minimum: '0.01', maximum: '0.1' },
      'x-payment-info': { offers: [{ method: 'upto', intent: 'charge', amount: '100000' }] },
    })
    const { resources } = await (await gateway.call('/.well-known/x402')).json()
    expect(resources).toContainEqual(expect.stringContaining(PATH))
    expect(resources).not.toContainEqual(expect.stringContaining('/v1/cheap'))
    const { operations } = await (await gateway.call('/v1/catalog?api=weather')).json()
    expect(operations.map(({ name, pay_per_request }: Record<string, unknown>) => [name, pay_per_request])).toEqual([
      ...[
        ['weather.billed', true],
        ['weather.cheap', false],
        ['weather.dear', false],
      ],
      ...[
        ['weather.forecast', true],
        ['weather.stream', false],
      ],
    ])
  })
})
