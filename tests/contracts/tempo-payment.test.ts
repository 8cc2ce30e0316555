import { expect, test } from 'bun:test'
import { Challenge, Credential } from 'mppx'
import { Mppx, tempo } from 'mppx/server'
import { createClient, http } from 'viem'
import { tempoLocalnet } from 'viem/chains'
import { tempoMethod } from '../../server/adapters/payments/mpp/tempo'
import {
  SANDBOX_CHAIN_ID,
  SANDBOX_CHALLENGE_MS,
  SANDBOX_TOKEN,
} from '../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { micros } from '../../server/core/money'
import type { ShownPayment } from '../../server/core/payments/method'
import { type Challenged, offered } from '../support/payments/payable-offer'
import { MERCHANT, openPaymentSandbox, PAYER, stranger } from '../support/payments/payment-sandbox'
import { paymentMethodContract, termsOf } from './payment-method.contract'

const SECRET = 'a secret that only this test knows, long enough'
const shown = (header: string): ShownPayment => ({ scheme: 'payment', text: header.replace(/^Payment /, '') })
const asked = ({ challenge }: Challenged) =>
  new Response(null, { status: 402, headers: { 'www-authenticate': challenge } })

const optionsOf = (rpcUrl: string) => ({
  rpcUrl,
  chainId: SANDBOX_CHAIN_ID,
  token: SANDBOX_TOKEN,
  decimals: 6,
  recipient: MERCHANT,
  secret: SECRET,
  realm: 'localhost',
  confirmations: 1,
  maxBlockAgeMs: 20_000,
  now: () => Date.now(),
  onTrouble: () => undefined,
})

async function open() {
  const sandbox = await openPaymentSandbox()
  const method = tempoMethod(optionsOf(sandbox.nodeUrl))
  const changed = (header: string, change: (credential: Credential.Credential) => Credential.Credential) =>
    shown(Credential.serialize(change(Credential.deserialize(header))))
  return {
    method,
    sandbox,
    payer: PAYER.address.toLowerCase(),
    setFault: sandbox.setFault,
    received: () => sandbox.balance(MERCHANT),
    pay: async (offer: Challenged) => shown(await sandbox.payer().createCredential(asked(offer))),
    async lies(offer: Challenged) {
      const lie = async (change: Parameters<typeof sandbox.lie>[1]) => shown(await sandbox.lie(offer.challenge, change))
      const honest = await sandbox.payer().createCredential(asked(offer))
      const pushed = { type: 'hash', hash: `0x${'ab'.repeat(32)}` }
      const proof = { type: 'proof', signature: `0x${'11'.repeat(65)}` }
      return {
        'too little': await lie({ amount: '4999' }),
        'too much': await lie({ amount: '5001' }),
        'another recipient': await lie({ recipient: stranger().address }),
        'another token': await lie({ currency: '0x20c0000000000000000000000000000000000001' }),
        'another price in the challenge': changed(honest, (c) => ({
          ...c,
          challenge: { ...c.challenge, request: { ...c.challenge.request, amount: '1' } },
        })),
        'a later expiry': changed(honest, (c) => ({
          ...c,
          challenge: { ...c.challenge, expires: new Date(Date.now() + 9e6).toISOString() },
        })),
        'a payment that we cannot hold back (push)': changed(honest, (c) => ({ ...c, payload: pushed })),
        'a proof of who it is': changed(honest, (c) => ({ ...c, payload: proof })),
        'another kind of transaction': changed(honest, (c) => ({
          ...c,
          payload: { type: 'transaction', signature: '0x02f86c' },
        })),
      }
    },
    poor: async (offer: Challenged) => shown(await sandbox.lie(offer.challenge, { gas: 900_000n }, stranger())),
    async late(terms: ReturnType<typeof termsOf>) {
      const client = createClient({ chain: tempoLocalnet, transport: http(sandbox.chainUrl) })
      const [currency, recipient] = [SANDBOX_TOKEN as `0x${string}`, MERCHANT as `0x${string}`]
      const charge = { currency, recipient, getClient: () => client }
      const mppx = Mppx.create({ secretKey: SECRET, realm: 'localhost', methods: [tempo.charge(charge)] })
      const expires = new Date(Date.now() - 1000).toISOString()
      const options = { amount: '0.005', chainId: SANDBOX_CHAIN_ID, expires, meta: { ...terms.binding } }
      const header = Challenge.serialize(await mppx.challenge.tempo.charge(options))
      return shown(await sandbox.lie(header, {}))
    },
    close: sandbox.close,
  }
}

paymentMethodContract('tempo', open)

test('tempo: each challenge is, byte for byte, one that the library would write and accept', async () => {
  const { method, sandbox } = await open()
  for (const besideKey of [false, true, false])
    for (const more of [{}, { description: 'a "quoted" text – of another kind' }, { amount: micros(123_456_789) }]) {
      const { challenge, challengeId } = await offered(method, { ...termsOf(), ...more, besideKey })
      const read = Challenge.deserialize(challenge)
      expect(Challenge.verify(read, { secretKey: SECRET })).toBe(true)
      expect(Challenge.serialize(read)).toBe(challenge)
      expect(read.id).toBe(challengeId)
      expect(read.header).toBe(besideKey ? 'Payment-Authorization' : undefined)
      expect(Date.parse(read.expires ?? '')).toBeGreaterThan(Date.now())
    }
  await sandbox.close()
})

test('tempo: a client that signs for 60 s, or until the challenge ends, pays on a chain that allows 30 s', async () => {
  const { sandbox } = await open()
  const method = tempoMethod({ ...optionsOf(sandbox.nodeUrl), challengeLifeMs: SANDBOX_CHALLENGE_MS })
  const terms = termsOf()
  const { challenge } = await offered(method, terms)
  const ends = Math.floor(Date.parse(Challenge.deserialize(challenge).expires ?? '') / 1000) + 1
  const lifeSeconds = Math.min(60, ends - Math.floor(Date.now() / 1000))
  const read = await method.read(shown(await sandbox.lie(challenge, { lifeSeconds })))
  if (!read?.ok) throw new Error('it could not be read')
  expect(await method.validate(read.value, terms)).toMatchObject({ ok: true })
  expect((await method.settle(read.value)).kind).toBe('settled')
  // The reason for the short challenge: this chain refuses what may still be sent later.
  await expect(sandbox.lie(challenge, { lifeSeconds: 60 })).rejects.toThrow('must be within 30s of block timestamp')
  await sandbox.close()
})

test('tempo: a transfer of the newest library, with a random nonce for 270 s (TIP-1106), is accepted where the chain takes it', async () => {
  const { sandbox } = await open()
  // The sandbox chain does not know TIP-1106. This node judges such a transfer as the same one with nonce 0, for 25 s.
  const node = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const asked = (await request.json()) as { method: string; params: [Record<string, unknown>] }
      const [call] = asked.params ?? []
      if (asked.method === 'eth_call' && call?.['nonce'] !== undefined) {
        judged.push({ nonce: call['nonce'], lifeSeconds: Math.round(Number(call['validBefore']) - Date.now() / 1000) })
        Object.assign(call, { nonce: '0x0', validBefore: `0x${Math.floor(Date.now() / 1000 + 25).toString(16)}` })
      }
      return fetch(sandbox.nodeUrl, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(asked),
      })
    },
  })
  const judged: unknown[] = []
  const method = tempoMethod(optionsOf(`http://127.0.0.1:${node.port}`))
  const terms = termsOf()
  const { challenge } = await offered(method, terms)
  const newest = { nonce: 0xfedc_ba98_7654n, lifeSeconds: 270, gas: 900_000n }
  const read = await method.read(shown(await sandbox.lie(challenge, newest)))
  if (!read?.ok) throw new Error('it could not be read')
  expect(await method.validate(read.value, terms)).toMatchObject({
    ok: true,
    value: { payer: PAYER.address.toLowerCase() },
  })
  expect(judged).toEqual([{ nonce: '0xfedcba987654', lifeSeconds: expect.closeTo(270, -1) }])
  const cheaper = await method.read(shown(await sandbox.lie(challenge, { ...newest, amount: '4999' })))
  if (!cheaper?.ok) throw new Error('it could not be read')
  expect(await method.validate(cheaper.value, terms)).toMatchObject({ ok: false })
  await node.stop(true)
  await sandbox.close()
})

test("tempo: a node that does not answer in time is not the payer's fault: nothing is decided, and the credential stays valid", async () => {
  const { method, sandbox, pay } = await open()
  const terms = termsOf()
  const credential = await pay(await offered(method, terms))
  const hurried = tempoMethod({ ...optionsOf(sandbox.nodeUrl), rpcTimeoutMs: 50 })
  const read = await hurried.read(credential)
  if (!read?.ok) throw new Error('it could not be read')
  sandbox.setFault('silent')
  expect(await hurried.validate(read.value, terms)).toMatchObject({
    ok: false,
    error: { code: 'payment_network_unavailable' },
  })
  sandbox.setFault('ok')
  expect((await method.validate(read.value, terms)).ok).toBe(true)
  await sandbox.close()
})

test('tempo: a settled payment that a reorganization removes is found to be gone once it has expired', async () => {
  const { method, sandbox, pay } = await open()
  const { ask } = sandbox
  const read = await method.read(await pay(await offered(method, termsOf())))
  if (!read?.ok) throw new Error('it could not be read')
  const before = await ask('evm_snapshot', [])
  expect((await method.settle(read.value)).kind).toBe('settled')
  expect((await method.lookUp(read.value.handle)).kind).toBe('settled')
  expect((await ask('evm_revert', [before])) as unknown).toBe(true)
  expect((await method.lookUp(read.value.handle)).kind).toBe('open')
  // Our clock says nothing: the chain itself must be past the last second of the transfer.
  const later = tempoMethod({ ...optionsOf(sandbox.nodeUrl), now: () => Date.now() + 120_000 })
  expect((await later.lookUp(read.value.handle)).kind).toBe('open')
  await ask('evm_increaseTime', [120])
  await ask('evm_mine', [])
  expect((await method.lookUp(read.value.handle)).kind).toBe('never')
  await sandbox.close()
})

test('tempo: a payment that claims another sender is booked to the signer', async () => {
  const { method, sandbox, close } = await open()
  const terms = termsOf()
  const honest = Credential.deserialize(await sandbox.payer().createCredential(asked(await offered(method, terms))))
  const forged = Credential.serialize({ ...honest, source: `did:pkh:eip155:1337:${stranger().address}` })
  const read = await method.read(shown(forged))
  expect(read?.ok && (await method.validate(read.value, terms))).toMatchObject({
    value: { payer: PAYER.address.toLowerCase() },
  })
  await close()
})

test("tempo: what is not JSON is malformed, and another method's credential is left to that method", async () => {
  const { method, close } = await open()
  expect(await method.read({ scheme: 'payment', text: '!!!' })).toMatchObject({
    error: { code: 'malformed_credential' },
  })
  expect(await method.read({ scheme: 'payment', text: 'e30' })).toMatchObject({
    error: { code: 'malformed_credential' },
  })
  expect(await method.read({ scheme: 'x402', text: 'e30' })).toBeNull()
  await close()
})
