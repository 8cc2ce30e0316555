import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { decodePaymentResponseHeader, wrapFetchWithPayment } from '@x402/fetch'
import Ajv2020 from 'ajv/dist/2020'
import { Challenge, Credential, Receipt } from 'mppx'
import { keccak256, stringToHex } from 'viem'
import type { PrivateKeyAccount } from 'viem/accounts'
import { micros } from '../../../server/core/money'
import { ok } from '../../../server/core/result'
import {
  EVM_CHAIN_ID,
  EVM_CHAIN_IN_V1,
  type EvmLie,
  openEvmSandbox,
  RELAYER,
  TOKEN_NAME,
} from '../../support/evm/evm-sandbox'
import type { Harness } from '../../support/harness'
import { expiredChallenge } from '../../support/payments/expired-challenge'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'
import { CONTEXT, endAndReconcile, IMAGES_CALL } from '../wire'

const PRICE_UNITS = 5000n
const SECRET = 'a secret that only this test knows, 32 bytes and more'
const BAD_GATEWAY = { kind: 'error', reason: 'fixture' } as const

describe('a request that is paid for by a signed authorization: evm and x402, versions 1 and 2 (spec 1.2, 2.4, 5.3)', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let gateway: Harness

  const opened = (folder?: string) => openPayable(sandbox, { PAYMENTS_SECRET: SECRET }, folder)
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    gateway = await opened()
  })
  beforeEach(() => {
    sandbox.setFault('ok')
    gateway.images.answer = async () => ok({ body: '{"fixture":true}' })
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const challengeIn = (answer: Response) => answer.headers.get('www-authenticate') ?? ''
  const requiredIn = (answer: Response) => answer.headers.get('payment-required') ?? ''
  /** Status, code and whether the answer invites to pay. */
  async function verdict(answer: Response): Promise<string> {
    const { error } = (await answer.json()) as { error?: { code: string } }
    const invites = [
      ...(challengeIn(answer).includes('Payment ') ? ['challenge'] : []),
      ...(requiredIn(answer) ? ['x402'] : []),
    ]
    return [`${answer.status} ${error?.code ?? 'ok'}`, ...invites].join(' +')
  }
  const calling: typeof fetch = Object.assign(
    async (input: string | URL | Request, init?: RequestInit) => {
      const request = new Request(input, init)
      const { pathname, search } = new URL(request.url)
      const body = request.method === 'GET' ? {} : { body: await request.text() }
      return gateway.call(pathname + search, { method: request.method, headers: request.headers, ...body })
    },
    { preconnect: fetch.preconnect },
  )

  /** How clients in Python name a challenge in what they sign: the hash of a list. */
  const listNonce = (header: string) => {
    const { id, realm } = Challenge.deserialize(header)
    return keccak256(stringToHex(JSON.stringify([id, realm])))
  }

  /** A call, and what pays for it, in each of the forms. */
  const FORMS = {
    evm: {
      invited: '+challenge +x402',
      buy: async (path = IMAGES_CALL, init: RequestInit = {}, payer: PrivateKeyAccount = PAYER) =>
        ({ authorization: await sandbox.payer(payer).createCredential(await gateway.call(path, init)) }) as Paying,
      lie: async (change: EvmLie, by?: PrivateKeyAccount): Promise<Paying> => ({
        authorization: await sandbox.lie(challengeIn(await gateway.call(IMAGES_CALL)), change, by),
      }),
    },
    x402: {
      invited: '+challenge +x402',
      buy: async (path = IMAGES_CALL, init: RequestInit = {}, payer: PrivateKeyAccount = PAYER) =>
        ({
          'payment-signature': await sandbox.x402Signature(requiredIn(await gateway.call(path, init)), payer),
        }) as Paying,
      lie: async (change: EvmLie, by?: PrivateKeyAccount): Promise<Paying> => ({
        'payment-signature': await sandbox.x402Lie(requiredIn(await gateway.call(IMAGES_CALL)), change, undefined, by),
      }),
    },
    'evm with the hash of a list': {
      invited: '+challenge +x402',
      buy: async (path = IMAGES_CALL, init: RequestInit = {}, payer: PrivateKeyAccount = PAYER) => {
        const header = challengeIn(await gateway.call(path, init))
        return { authorization: await sandbox.lie(header, { nonce: listNonce(header) }, payer) } as Paying
      },
      lie: async (change: EvmLie, by?: PrivateKeyAccount): Promise<Paying> => {
        const header = challengeIn(await gateway.call(IMAGES_CALL))
        return { authorization: await sandbox.lie(header, { nonce: listNonce(header), ...change }, by) }
      },
    },
  } as const
  /** The forms, and version 1 of x402: its payments name no request, so that the first one binds them. */
  const ALL_FORMS = {
    ...FORMS,
    'x402 version 1': {
      invited: '+challenge +x402',
      buy: async (path = IMAGES_CALL, init: RequestInit = {}, payer: PrivateKeyAccount = PAYER) =>
        ({
          'x-payment': await sandbox.x402V1Payment(await (await gateway.call(path, init)).json(), payer),
        }) as Paying,
      lie: async (change: EvmLie, by?: PrivateKeyAccount): Promise<Paying> => ({
        'x-payment': await sandbox.x402V1Lie(await (await gateway.call(IMAGES_CALL)).json(), change, by),
      }),
    },
  } as const
  type Paying = Record<string, string>
  const paid = (paying: Paying, path = IMAGES_CALL, init: RequestInit = {}, to = gateway) => {
    const headers = new Headers(init.headers)
    for (const [name, value] of Object.entries(paying)) headers.set(name, value)
    return to.call(path, { ...init, headers })
  }

  test('directories and wallets read the price that the operator set, and nothing of what is free or too cheap for the chain', async () => {
    const path = '/apis/v1/websearch/images/search'
    const operator = { kind: 'operator', id: 'test', address: null } as const
    const listed = async () => {
      const document = await (await gateway.call('/openapi.json')).json()
      const { resources } = await (await gateway.call('/.well-known/x402')).json()
      const [offer] = document.paths[path].get['x-payment-info']?.offers ?? []
      return [offer?.amount, resources.some((url: string) => url.endsWith(path))]
    }
    expect(await listed()).toEqual(['5000', true])
    for (const [amount, shown] of [
      [20_000, ['20000', true]],
      [1000, [undefined, false]],
      [0, [undefined, false]],
      [null, ['5000', true]],
    ] as const) {
      await gateway.core.operator.setPrice(operator, 'image-search', null, amount === null ? null : micros(amount))
      expect(await listed()).toEqual([...shown])
    }
  })

  test('the 402 carries one offer in both forms: a challenge and PAYMENT-REQUIRED, of the same money', async () => {
    const answer = await gateway.call(IMAGES_CALL)
    const challenge = Challenge.deserialize(challengeIn(answer))
    expect(challenge).toMatchObject({
      method: 'evm',
      intent: 'charge',
      request: { amount: '5000', recipient: expect.stringMatching(new RegExp(MERCHANT, 'i')) },
    })
    expect(challenge.description).toMatch(/API key.*payment challenge/)
    const required = JSON.parse(atob(requiredIn(answer)))
    expect(required).toMatchObject({
      x402Version: 2,
      resource: { url: expect.stringMatching(new RegExp(`^http://[^/]+${IMAGES_CALL.replace('?', '\\?')}$`)) },
      accepts: [
        {
          scheme: 'exact',
          network: `eip155:${EVM_CHAIN_ID}`,
          amount: '5000',
          maxTimeoutSeconds: 300,
          asset: challenge.request['currency'],
          payTo: challenge.request['recipient'],
          extra: { name: TOKEN_NAME, version: '2' },
        },
      ],
    })
  })

  test('directories of x402 find what is paid for: in the offers of both versions and in /.well-known/x402', async () => {
    const post = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"q":"card"}' }
    for (const [method, answer] of [
      ['GET', await gateway.call(IMAGES_CALL)],
      ['POST', await gateway.call(CONTEXT, post)],
    ] as const) {
      const { bazaar } = JSON.parse(atob(requiredIn(answer))).extensions
      expect(bazaar.info.input).toMatchObject({ type: 'http', method })
      expect(new Ajv2020({ strict: false }).validate(bazaar.schema, bazaar.info)).toBe(true)
      const [accepted] = ((await answer.json()) as { accepts: { outputSchema: unknown }[] }).accepts
      expect(accepted?.outputSchema).toEqual({ input: { type: 'http', method, discoverable: true } })
    }
    const listed = await gateway.call('/.well-known/x402')
    expect(listed.headers.get('content-type')).toBe('application/json')
    const { version, resources } = (await listed.json()) as { version: number; resources: string[] }
    const paths = resources.map((url) => new URL(url).pathname)
    expect([version, paths]).toEqual([1, expect.arrayContaining([IMAGES_CALL.split('?')[0], CONTEXT])])
    for (const path of paths) expect((await gateway.call(`${path}?q=card`)).status, path).toBe(402)
  })

  test('a payment client of the `Payment` scheme pays, and gets the answer with its receipt', async () => {
    let answer = new Response()
    const amount = await moved(async () => {
      answer = await sandbox.payer(PAYER, calling).fetch(`http://localhost${IMAGES_CALL}`)
    })
    expect([answer.status, await answer.json(), amount]).toEqual([200, { fixture: true }, PRICE_UNITS])
    const receipt = Receipt.deserialize(answer.headers.get('payment-receipt') ?? '')
    expect(receipt).toMatchObject({ method: 'evm', reference: expect.stringMatching(/^0x[0-9a-f]{64}$/) })
    expect(answer.headers.get('payment-response')).toBeNull()
    expect([answer.headers.get('cache-control'), answer.headers.get('x-cost-micros-usd')]).toEqual(['private', '5000'])
  })

  test('the client of x402 pays, and gets the answer with PAYMENT-RESPONSE and the receipt', async () => {
    let answer = new Response()
    const amount = await moved(async () => {
      answer = await wrapFetchWithPayment(calling, sandbox.x402())(`http://localhost${IMAGES_CALL}`)
    })
    expect([answer.status, await answer.json(), amount]).toEqual([200, { fixture: true }, PRICE_UNITS])
    const receipt = Receipt.deserialize(answer.headers.get('payment-receipt') ?? '')
    expect(decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '')).toEqual({
      success: true,
      transaction: receipt.reference,
      network: `eip155:${EVM_CHAIN_ID}`,
      payer: PAYER.address.toLowerCase(),
    })
    const claims = await gateway.core.stores.paymentClaims.list({ state: null, account: null, purpose: null }, 1, null)
    expect(claims?.rows[0]).toMatchObject({ state: 'served', method: 'evm', reference: receipt.reference })
  })

  test('the client of x402 pays by the body of the 402 as with version 1, and gets X-PAYMENT-RESPONSE', async () => {
    const v1Only: typeof fetch = Object.assign(
      async (input: string | URL | Request, init?: RequestInit) => {
        const answer = await calling(input, init)
        const headers = new Headers(answer.headers)
        headers.delete('payment-required')
        return new Response(answer.body, { status: answer.status, headers })
      },
      { preconnect: fetch.preconnect },
    )
    let answer = new Response()
    const amount = await moved(async () => {
      answer = await wrapFetchWithPayment(v1Only, sandbox.x402V1())(`http://localhost${IMAGES_CALL}`)
    })
    expect([answer.status, await answer.json(), amount]).toEqual([200, { fixture: true }, PRICE_UNITS])
    const receipt = Receipt.deserialize(answer.headers.get('payment-receipt') ?? '')
    expect(answer.headers.get('payment-response')).toBeNull()
    expect(decodePaymentResponseHeader(answer.headers.get('x-payment-response') ?? '')).toEqual({
      success: true,
      transaction: receipt.reference,
      network: EVM_CHAIN_IN_V1,
      payer: PAYER.address.toLowerCase(),
    })
  })

  test('a payment of x402 version 1 pays for the first request that it is sent with, and for no other', async () => {
    const paying = await ALL_FORMS['x402 version 1'].buy()
    gateway.images.answer = async () => ({ ok: false, error: BAD_GATEWAY })
    expect(await verdict(await paid(paying))).toBe('502 upstream_error')
    gateway.images.answer = async () => ok({ body: '{}' })
    const refused = '402 invalid_challenge +challenge +x402'
    expect(await verdict(await paid(paying, `${IMAGES_CALL}s`))).toBe(refused)
    expect(await verdict(await paid(paying, '/apis/v1/websearch/llm/context?q=card'))).toBe(refused)
    expect(await moved(async () => expect(await verdict(await paid(paying))).toBe('200 ok'))).toBe(PRICE_UNITS)
    expect(await moved(async () => expect(await verdict(await paid(paying))).toBe(refused))).toBe(0n)
  })

  test.each([
    ['network', { network: 'base' }, 'invalid_challenge'],
    ['scheme', { scheme: 'upto' }, 'invalid_payload'],
  ] as const)(
    'a payment of x402 version 1 that names another %s is refused, and nothing moves',
    async (_, around, code) => {
      const body = await (await gateway.call(IMAGES_CALL)).json()
      const paying = { 'x-payment': await sandbox.x402V1Lie(body, {}, PAYER, around) }
      const amount = await moved(async () =>
        expect(await verdict(await paid(paying))).toBe(`402 ${code} +challenge +x402`),
      )
      expect(amount).toBe(0n)
    },
  )

  test('a payment of x402 version 1, written in other ways and sent under both headers at once, is paid once', async () => {
    const { 'x-payment': text = '' } = await ALL_FORMS['x402 version 1'].buy()
    const json = atob(text)
    const upper = json.replace(
      /"(from|to|nonce)":"0x([0-9a-fA-F]+)"/g,
      (_, name, hex) => `"${name}":"0x${hex.toUpperCase()}"`,
    )
    const written = [json, JSON.stringify(JSON.parse(json), null, 2), upper].map((one) => btoa(one))
    let verdicts: string[] = []
    const amount = await moved(async () => {
      const sent = written.flatMap((one) => [{ 'x-payment': one }, { 'payment-signature': one }])
      verdicts = await Promise.all(sent.map(async (one) => verdict(await paid(one))))
    })
    expect([verdicts.filter((one) => one === '200 ok').length, amount]).toEqual([1, PRICE_UNITS])
    for (const one of verdicts) expect(one).toMatch(/^(200 ok|409 payment_in_progress|402 invalid_challenge .*)$/)
  })

  test('the hash of another challenge as a list is refused: it names what is paid for', async () => {
    const other = listNonce(challengeIn(await gateway.call(`${IMAGES_CALL}s`)))
    const paying = await FORMS['evm with the hash of a list'].lie({ nonce: other })
    expect(await verdict(await paid(paying))).toBe('402 verification_failed +challenge +x402')
  })

  test('the hash of a list revives no expired challenge, and covers what the challenge says, not only its id', async () => {
    const [own, other] = [await gateway.call(IMAGES_CALL), await gateway.call(`${IMAGES_CALL}s`)].map(challengeIn)
    if (!own || !other) throw new Error('there is no challenge')
    const over = expiredChallenge(own, SECRET)
    const forged = Challenge.serialize({ ...Challenge.deserialize(other), id: Challenge.deserialize(own).id })
    const paying = async (header: string) => ({
      authorization: await sandbox.lie(header, { nonce: listNonce(header) }),
    })
    const amount = await moved(async () => {
      expect(await verdict(await paid(await paying(over)))).toBe('402 payment_expired +challenge +x402')
      const sold = await paid(await paying(forged), `${IMAGES_CALL}s`)
      expect(await verdict(sold)).toBe('402 invalid_challenge +challenge +x402')
    })
    expect(amount).toBe(0n)
  })

  test('of two payments under the headers of both versions, one is taken, and the other stays good', async () => {
    const first = await ALL_FORMS.x402.buy()
    const second = await ALL_FORMS['x402 version 1'].buy()
    const both = { ...first, ...second }
    expect(await moved(async () => expect(await verdict(await paid(both))).toBe('200 ok'))).toBe(PRICE_UNITS)
    expect(await verdict(await paid(both))).toBe('402 invalid_challenge +challenge +x402')
    expect(await moved(async () => expect(await verdict(await paid(second))).toBe('200 ok'))).toBe(PRICE_UNITS)
  })

  test('a client that speaks both, and is shown x402 only, is bound by the nonce that it signs', async () => {
    const x402Only: typeof fetch = Object.assign(
      async (input: string | URL | Request, init?: RequestInit) => {
        const answer = await calling(input, init)
        if (answer.status !== 402) return answer
        const headers = new Headers(answer.headers)
        headers.delete('www-authenticate')
        return new Response(answer.body, { status: 402, headers })
      },
      { preconnect: fetch.preconnect },
    )
    const call = () => sandbox.payer(PAYER, x402Only).fetch(`http://localhost${IMAGES_CALL}`)
    expect(await moved(async () => expect(await verdict(await call())).toBe('200 ok'))).toBe(PRICE_UNITS)
  })

  test('POST by x402 is bound to its body as well, by what the client echoes', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"q":"card"}' }
    const paying = await FORMS.x402.buy(CONTEXT, init)
    expect(await verdict(await paid(paying, CONTEXT, { ...init, body: '{"q":"other"}' }))).toBe(
      '402 invalid_challenge +challenge +x402',
    )
    expect(await verdict(await paid(paying, CONTEXT, init))).toBe('200 ok')
  })

  test('a payment of x402 without an echo is bound to the address, and by the first request that it pays for', async () => {
    const required = requiredIn(await gateway.call(IMAGES_CALL))
    const bare = { 'payment-signature': await sandbox.x402Lie(required, {}, () => ({ extensions: undefined })) }
    expect(await verdict(await paid(bare, `${IMAGES_CALL}s`))).toBe('402 invalid_challenge +challenge +x402')
    gateway.images.answer = async () => ({ ok: false, error: BAD_GATEWAY })
    expect(await verdict(await paid(bare))).toBe('502 upstream_error')
    gateway.images.answer = async () => ok({ body: '{}' })
    const version = { headers: { 'api-version': '2026-02-06' } }
    expect(await verdict(await paid(bare, IMAGES_CALL, version))).toBe('402 invalid_challenge +challenge +x402')
    expect(await moved(async () => expect(await verdict(await paid(bare))).toBe('200 ok'))).toBe(PRICE_UNITS)
  })

  describe('one authorization in both forms is paid once and serves one request', () => {
    const both = async () => {
      const answer = await gateway.call(IMAGES_CALL)
      const authorization = await sandbox.lie(challengeIn(answer), {})
      const { payload } = Credential.deserialize<Record<string, string>>(authorization)
      const [validAfter, validBefore] = [Number(payload['validAfter']), Number(payload['validBefore'])]
      const same = { nonce: payload['nonce'] as `0x${string}`, validAfter, validBefore }
      const signature = await sandbox.x402Lie(requiredIn(answer), same, () => ({ extensions: undefined }))
      expect(JSON.parse(atob(signature)).payload.signature).toBe(payload['signature'])
      return [{ authorization }, { 'payment-signature': signature }] as const
    }

    test.each([
      [0, 1],
      [1, 0],
    ] as const)('one after the other (%i, then %i)', async (first, second) => {
      const forms = await both()
      const amount = await moved(async () => {
        expect(await verdict(await paid(forms[first]))).toBe('200 ok')
        expect(await verdict(await paid(forms[second]))).toBe('402 invalid_challenge +challenge +x402')
      })
      expect(amount).toBe(PRICE_UNITS)
    })

    test('both at once', async () => {
      const forms = await both()
      let verdicts: string[] = []
      const amount = await moved(async () => {
        verdicts = await Promise.all(forms.map(async (form) => verdict(await paid(form))))
      })
      expect(verdicts.filter((one) => one === '200 ok')).toHaveLength(1)
      expect(
        verdicts.filter((one) => /^(200 ok|409 payment_in_progress|402 invalid_challenge .*)$/.test(one)),
      ).toHaveLength(2)
      expect(amount).toBe(PRICE_UNITS)
    })
  })

  describe.each(Object.entries(FORMS))('by %s', (_, { buy, invited }) => {
    test('a payment buys no other query or path, not under another X-Request-ID, and not twice', async () => {
      const own = { headers: { 'x-request-id': 'order-1' } }
      const paying = await buy(IMAGES_CALL, own)
      const refused = `402 invalid_challenge ${invited}`
      expect(await verdict(await paid(paying, `${IMAGES_CALL}s`, own))).toBe(refused)
      expect(await verdict(await paid(paying, '/apis/v1/websearch/llm/context?q=card', own))).toBe(refused)
      expect(await verdict(await paid(paying))).toBe(refused)
      expect(await verdict(await paid(paying, IMAGES_CALL, own))).toBe('200 ok')
      expect(await moved(async () => expect(await verdict(await paid(paying, IMAGES_CALL, own))).toBe(refused))).toBe(
        0n,
      )
    })
  })

  describe.each(Object.entries(ALL_FORMS))('by %s', (_, { buy, lie, invited }) => {
    // After three refused payments in an hour an address pays first, whatever the form.
    beforeAll(async () => {
      await endAndReconcile(gateway)
      gateway = await opened()
    })

    test('two parallel requests with the same payment: one is served, money moves once', async () => {
      const paying = await buy()
      let verdicts: string[] = []
      const amount = await moved(async () => {
        verdicts = await Promise.all([1, 2].map(async () => verdict(await paid(paying))))
      })
      expect([verdicts.filter((one) => one === '200 ok').length, amount]).toEqual([1, PRICE_UNITS])
    })

    const now = () => Math.floor(Date.now() / 1000)
    const REFUSED: readonly (readonly [string, string, () => Promise<Paying>])[] = [
      ['too little', 'verification_failed', () => lie({ value: '4999' })],
      ['too much', 'verification_failed', () => lie({ value: '5001' })],
      ['another recipient', 'verification_failed', () => lie({ to: stranger().address })],
      ['another token', 'verification_failed', () => lie({ domain: { verifyingContract: stranger().address } })],
      ['another chain', 'verification_failed', () => lie({ domain: { chainId: 1 } })],
      ['what is not valid yet', 'verification_failed', () => lie({ validAfter: now() + 100 })],
      ['what lives too long', 'verification_failed', () => lie({ validBefore: now() + 3600 })],
      ['a payer without money', 'verification_failed', () => buy(IMAGES_CALL, {}, stranger())],
      ["somebody else's money", 'verification_failed', () => lie({ from: PAYER.address }, stranger())],
    ]
    test.each(REFUSED)('%s: 402 %s with a new offer, nothing moves, nothing runs', async (_, code, make) => {
      const paying = await make()
      const before = gateway.images.asked.length
      const amount = await moved(async () => expect(await verdict(await paid(paying))).toBe(`402 ${code} ${invited}`))
      expect([amount, gateway.images.asked.length - before]).toEqual([0n, 0])
    })
  })

  test('an unreadable x402 header of either version is malformed', async () => {
    const malformed = '402 malformed_credential +challenge +x402'
    expect(await verdict(await paid({ 'payment-signature': '@@@' }))).toBe(malformed)
    expect(await verdict(await paid({ 'payment-signature': btoa('{"x402Version":1}') }))).toBe(malformed)
    for (const text of ['@@@', btoa('{}'), btoa('{"x402Version":1,"scheme":"exact"}'), btoa('{"x402Version":1')])
      expect(await verdict(await paid({ 'x-payment': text }))).toBe(malformed)
    const huge = { x402Version: 1, scheme: 'exact', network: EVM_CHAIN_IN_V1, payload: 'x'.repeat(20_000) }
    expect(await verdict(await paid({ 'x-payment': btoa(JSON.stringify(huge)) }))).toBe(malformed)
    const deep = `{"x402Version":1,"payload":${'['.repeat(5000)}${']'.repeat(5000)}}`
    expect(await verdict(await paid({ 'x-payment': btoa(deep) }))).toBe(malformed)
    const empty = btoa(JSON.stringify({ x402Version: 1, scheme: 'exact', network: EVM_CHAIN_IN_V1, payload: {} }))
    expect(await verdict(await paid({ 'x-payment': empty }))).toBe('402 invalid_payload +challenge +x402')
  })

  test('an expired challenge is payment_expired, and the new one that comes with it can be paid', async () => {
    const over = expiredChallenge(challengeIn(await gateway.call(IMAGES_CALL)), SECRET)
    const late = await paid({ authorization: await sandbox.lie(over, {}) })
    expect(await verdict(late.clone())).toBe('402 payment_expired +challenge +x402')
    const authorization = await sandbox.payer().createCredential(late)
    expect(await moved(async () => expect(await verdict(await paid({ authorization }))).toBe('200 ok'))).toBe(
      PRICE_UNITS,
    )
  })

  test('an expired authorization of x402 is payment_expired', async () => {
    const over = await FORMS.x402.lie({ validBefore: Math.floor(Date.now() / 1000) - 5 })
    expect(await verdict(await paid(over))).toBe('402 payment_expired +challenge +x402')
  })

  test('x402 clients send the key along with the payment: a key that cannot pay does not stop the payment', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account, { spending_limit: 0.001 })
    const headers = { authorization: `Bearer ${key.secret}` }
    const before = await gateway.core.ledger.balance(account.id)
    const paying = wrapFetchWithPayment(calling, sandbox.x402())
    const amount = await moved(async () => {
      expect(await verdict(await paying(`http://localhost${IMAGES_CALL}`, { headers }))).toBe('200 ok')
    })
    expect([amount, await gateway.core.ledger.balance(account.id)]).toEqual([PRICE_UNITS, before])
  })

  test('a relayer without gas accepts no payment: 503 without an offer, and a log line', async () => {
    const has = await sandbox.ask('eth_getBalance', [RELAYER.address, 'latest'])
    const paying = await FORMS.evm.buy()
    await sandbox.ask('anvil_setBalance', [RELAYER.address, '0x0'])
    // Past what was asked of the chain a moment ago.
    gateway.clock.advance(3000)
    expect(
      await moved(async () => expect(await verdict(await paid(paying))).toBe('503 payment_network_unavailable')),
    ).toBe(0n)
    expect(gateway.logged.join('\n')).toContain('the relayer cannot pay for gas')
    await sandbox.ask('anvil_setBalance', [RELAYER.address, has])
    expect(await verdict(await paid(paying))).toBe('200 ok')
  })

  test('settings that do not match the chain disable the offer, and the log names the mismatch', async () => {
    const wrong = await openPayable(sandbox, { PAYMENTS_EVM_TOKEN_NAME: 'USD Coin' })
    const answer = await wrong.call(IMAGES_CALL)
    expect([challengeIn(answer), requiredIn(answer)]).toEqual(['Bearer realm="gateway"', ''])
    expect(wrong.logged.join('\n')).toContain('the token does not sign as \\"USD Coin\\", version')
    await endAndReconcile(wrong)
  })

  describe('top-ups', () => {
    const PATH = '/v1/wallet/topups'
    const TEN = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"amount":"10.00"}' }
    const asOwner = async () => {
      const account = await gateway.account(0, null)
      const key = await gateway.key(account)
      const init = { ...TEN, headers: { ...TEN.headers, authorization: `Bearer ${key.secret}` } }
      const balance = async () => Number((await gateway.core.ledger.balance(account.id))?.paid)
      return { init, balance }
    }

    test('by evm, the credential together with the key', async () => {
      const { init, balance } = await asOwner()
      const asked = await gateway.call(PATH, init)
      expect(Challenge.deserialize(challengeIn(asked))).toMatchObject({ header: 'Payment-Authorization' })
      const paying = { 'payment-authorization': await sandbox.payer().createCredential(asked) }
      const amount = await moved(async () => expect((await paid(paying, PATH, init)).status).toBe(201))
      expect([amount, await balance()]).toEqual([10_000_000n, 10_000_000])
    })

    test('by x402, whose client leaves the key; the same payment again tops up nothing more', async () => {
      const { init, balance } = await asOwner()
      let paying = ''
      const listening: typeof fetch = Object.assign(
        async (input: string | URL | Request) => {
          paying = new Request(input).headers.get('payment-signature') ?? paying
          return calling(input)
        },
        { preconnect: fetch.preconnect },
      )
      const top = wrapFetchWithPayment(listening, sandbox.x402())
      const amount = await moved(async () => {
        const answer = await top(`http://localhost${PATH}`, init)
        expect([answer.status, answer.headers.has('payment-response')]).toEqual([201, true])
        expect((await paid({ 'payment-signature': paying }, PATH, init)).status).toBe(200)
      })
      expect([amount, await balance()]).toEqual([10_000_000n, 10_000_000])
    })

    test('a payment of x402 version 1 that is sent for two accounts at once tops up one of them, and buys no call', async () => {
      const owners = [await asOwner(), await asOwner()] as const
      const asked = await (await gateway.call(PATH, owners[0].init)).json()
      const paying = { 'x-payment': await sandbox.x402V1Payment(asked, PAYER) }
      const amount = await moved(async () => {
        const requests = owners.flatMap(({ init }) => [init, init])
        await Promise.all(requests.map((init) => paid(paying, PATH, init)))
        expect(await verdict(await paid(paying))).toBe('402 invalid_challenge +challenge +x402')
      })
      const balances = await Promise.all(owners.map(({ balance }) => balance()))
      expect([amount, balances.sort()]).toEqual([10_000_000n, [0, 10_000_000]])
    })

    test('a payment by x402 alone names no wallet: it needs the key', async () => {
      const { init } = await asOwner()
      const paying = { 'payment-signature': await sandbox.x402Signature(requiredIn(await gateway.call(PATH, init))) }
      expect((await paid(paying, PATH, TEN)).status).toBe(401)
      const other = await asOwner()
      expect(await verdict(await paid(paying, PATH, other.init))).toBe('402 invalid_challenge +challenge +x402')
    })
  })

  test.each([undefined, null])(
    'an x402 payment whose resource is %p is served, once (x402 version 2, 5.2.2)',
    async (resource) => {
      const required = requiredIn(await gateway.call(IMAGES_CALL))
      const headers = { 'payment-signature': await sandbox.x402Lie(required, {}, () => ({ resource })) }
      const amount = await moved(async () => {
        expect((await gateway.call(IMAGES_CALL, { headers })).status).toBe(200)
        expect((await gateway.call(IMAGES_CALL, { headers })).status).toBe(402)
        const less = await sandbox.x402Lie(required, { value: '4999' }, () => ({ resource }))
        expect((await gateway.call(IMAGES_CALL, { headers: { 'payment-signature': less } })).status).toBe(402)
      })
      expect(amount).toBe(PRICE_UNITS)
    },
  )
})
