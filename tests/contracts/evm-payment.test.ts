import { expect, test } from 'bun:test'
import { Challenge, Credential } from 'mppx'
import { evm, Mppx } from 'mppx/server'
import { evmMethod } from '../../server/adapters/payments/mpp/evm/evm'
import { formatUsd } from '../../server/core/money'
import type { ShownPayment, Terms } from '../../server/core/payments/method'
import { EVM_CHAIN_ID, openEvmSandbox, TOKEN_NAME, TOKEN_VERSION } from '../support/evm/evm-sandbox'
import { type Challenged, offered } from '../support/payments/payable-offer'
import { MERCHANT, PAYER, stranger } from '../support/payments/payment-sandbox'
import { type MethodUnderTest, paymentMethodContract, termsOf } from './payment-method.contract'

const SECRET = 'a secret that only this test knows, long enough'
const ORIGIN = 'https://gateway.example'
const shown = (header: string): ShownPayment => ({ scheme: 'payment', text: header.replace(/^Payment /, '') })
const asked = ({ challenge }: Challenged) =>
  new Response(null, { status: 402, headers: { 'www-authenticate': challenge } })
const seconds = (from: number) => Math.floor(Date.now() / 1000) + from

async function open() {
  const sandbox = await openEvmSandbox()
  const method = evmMethod({
    ...sandbox.options,
    secret: SECRET,
    realm: 'localhost',
    origin: ORIGIN,
    now: () => Date.now(),
    onTrouble: () => undefined,
  })
  return { method, sandbox, payer: PAYER.address.toLowerCase() }
}

function common({ method, sandbox, payer }: Awaited<ReturnType<typeof open>>) {
  return {
    method,
    sandbox,
    payer,
    setFault: sandbox.setFault,
    close: sandbox.close,
    received: () => sandbox.balance(MERCHANT),
  }
}

async function openPaymentForm(): Promise<MethodUnderTest> {
  const parts = await open()
  const { sandbox } = parts
  const pay = async (offer: Challenged, by = PAYER) => shown(await sandbox.payer(by).createCredential(asked(offer)))
  return {
    ...common(parts),
    pay: (offer) => pay(offer),
    async lies(offer) {
      const lie = async (...[change, by]: [Parameters<typeof sandbox.lie>[1], typeof PAYER?]) =>
        shown(await sandbox.lie(offer.challenge, change, by))
      const honest = await sandbox.payer().createCredential(asked(offer))
      const challenged = (change: (c: Challenge.Challenge) => object) => {
        const credential = Credential.deserialize(honest)
        const challenge = { ...credential.challenge, ...change(credential.challenge) } as Challenge.Challenge
        return shown(Credential.serialize({ ...credential, challenge }))
      }
      const payload = (change: object) => {
        const credential = Credential.deserialize<object>(honest)
        return shown(Credential.serialize({ ...credential, payload: { ...credential.payload, ...change } }))
      }
      return {
        'too little': await lie({ value: '4999' }),
        'too much': await lie({ value: '5001' }),
        'another recipient': await lie({ to: stranger().address }),
        'another token': await lie({ domain: { verifyingContract: stranger().address } }),
        'another chain': await lie({ domain: { chainId: 1 } }),
        'a nonce that is not of the challenge': await lie({ nonce: `0x${'ab'.repeat(32)}` }),
        'not valid yet': await lie({ validAfter: seconds(100) }),
        'not valid any more': await lie({ validBefore: seconds(-5) }),
        'valid for an hour': await lie({ validBefore: seconds(3600) }),
        'the money of somebody else': await lie({ from: PAYER.address }, stranger()),
        'a signature that is none': payload({ signature: `0x${'11'.repeat(64)}02` }),
        'a signature of zeros': payload({ signature: `0x${'00'.repeat(65)}` }),
        'another price in the challenge': challenged(({ request }) => ({ request: { ...request, amount: '1' } })),
        'a later expiry': challenged(() => ({ expires: new Date(Date.now() + 9e6).toISOString() })),
      }
    },
    poor: (offer) => pay(offer, stranger()),
    async late(terms: Terms) {
      const charge = evm.charge({
        currency: sandbox.token,
        recipient: MERCHANT,
        chainId: EVM_CHAIN_ID,
        decimals: 6,
        authorization: { name: TOKEN_NAME, version: TOKEN_VERSION },
        settle: () => Promise.reject(new Error('not here')),
      })
      const mppx = Mppx.create({ secretKey: SECRET, realm: 'localhost', methods: [charge] })
      const expires = new Date(Date.now() - 1000).toISOString()
      const late = await mppx.challenge.evm.charge({ amount: '0.005', expires, meta: { ...terms.binding } })
      return shown(await sandbox.lie(Challenge.serialize(late), {}))
    },
  }
}

async function openX402Form(): Promise<MethodUnderTest> {
  const parts = await open()
  const { sandbox, method } = parts
  const x402 = (text: string): ShownPayment => ({ scheme: 'x402', text })
  const required = ({ more }: Challenged) => more['payment-required'] ?? ''
  const pay = async (offer: Challenged, by = PAYER) => x402(await sandbox.x402Signature(required(offer), by))
  return {
    ...common(parts),
    pay: (offer) => pay(offer),
    async lies(offer) {
      const lie = async (...[change, around, by]: Tail<Parameters<typeof sandbox.x402Lie>>) =>
        x402(await sandbox.x402Lie(required(offer), change, around, by))
      const accepted = (change: object) => lie({}, ({ accepted: said }) => ({ accepted: { ...said, ...change } }))
      return {
        'too little': await lie({ value: '4999' }),
        'too much': await lie({ value: '5001' }),
        'another recipient': await lie({ to: stranger().address }),
        'another token': await lie({ domain: { verifyingContract: stranger().address } }),
        'another chain': await lie({ domain: { chainId: 1 } }),
        'not valid yet': await lie({ validAfter: seconds(100) }),
        'valid for an hour': await lie({ validBefore: seconds(3600) }),
        'the money of somebody else': await lie({ from: PAYER.address }, undefined, stranger()),
        'a signature that is none': await lie({}, ({ payload }) => ({
          payload: { ...payload, signature: `0x${'11'.repeat(64)}02` },
        })),
        'another price in the offer': await accepted({ amount: '1' }),
        'another recipient in the offer': await accepted({ payTo: stranger().address }),
        'another token in the offer': await accepted({ asset: stranger().address }),
        'another chain in the offer': await accepted({ network: 'eip155:1' }),
        'another address': await lie({}, () => ({ resource: { url: `${ORIGIN}/another` } })),
        'another request': await lie({}, ({ extensions: { mppx } }) => ({
          extensions: { mppx: { ...mppx, info: { ...mppx.info, opaque: btoa('{"op":"image-search"}') } } },
        })),
      }
    },
    poor: (offer) => pay(offer, stranger()),
    async late(terms) {
      return x402(await sandbox.x402Lie(required(await offered(method, terms)), { validBefore: seconds(-5) }))
    },
  }
}

type Tail<T extends readonly unknown[]> = T extends readonly [unknown, ...infer R] ? R : never

paymentMethodContract('evm', openPaymentForm)
paymentMethodContract('evm, by x402', openX402Form)

test("evm: every offer is the library's with the Bazaar's extension added, whatever was offered before", async () => {
  const { method, sandbox } = await open()
  const charge = evm.charge({
    currency: sandbox.token,
    recipient: MERCHANT,
    chainId: EVM_CHAIN_ID,
    decimals: 6,
    authorization: { name: TOKEN_NAME, version: TOKEN_VERSION },
    settle: () => Promise.reject(new Error('not here')),
  })
  const mppx = Mppx.create({ secretKey: SECRET, realm: 'localhost', methods: [charge] })
  const asked = (terms: Terms, url: string) => ({
    terms,
    input: new Request(ORIGIN + url, { method: terms.resource.method }),
  })
  const search = (q: string) => ({ method: 'GET', url: `http://10.0.0.1:3000/search?q=${q}` })
  for (const { terms, input } of [
    asked(termsOf({ resource: search('a%20card') }), '/search?q=a%20card'),
    asked(termsOf({ resource: search('other') }), '/search?q=other'),
    asked(termsOf({ resource: { method: 'POST', url: '/v1/wallet/topups' } }), '/v1/wallet/topups'),
  ]) {
    const offer = await offered(method, terms)
    const { amount, description, binding } = terms
    const expires = Challenge.deserialize(offer.challenge).expires ?? ''
    const meta = { ...binding }
    const challenge = await mppx.challenge.evm.charge({ amount: formatUsd(amount), description, expires, meta })
    expect(offer.challenge).toBe(Challenge.serialize(challenge))
    const theirs = await charge.transport?.respondChallenge({ challenge, input })
    const decoded = (text: string) => JSON.parse(atob(text))
    const { extensions, ...ours } = decoded(offer.more['payment-required'] ?? '')
    const { bazaar, ...same } = extensions
    expect({ ...ours, extensions: same }).toEqual(decoded(theirs?.headers.get('payment-required') ?? ''))
    expect(bazaar.info.input.method).toBe(terms.resource.method)
  }
  await sandbox.close()
})
