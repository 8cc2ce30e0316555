import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { micros } from '../../server/core/money'
import type { PaymentFate, PaymentMethod, ReadCredential, ShownPayment, Terms } from '../../server/core/payments/method'
import type { PaymentRefusalCode } from '../../server/core/payments/refusal'
import type { NodeFault } from '../support/payments/faulty-node'
import { type Challenged, offered } from '../support/payments/payable-offer'

export interface MethodUnderTest {
  readonly method: PaymentMethod
  /** Lower case. */
  readonly payer: string
  setFault(fault: NodeFault): void
  /** The recipient's income so far, in the token's smallest unit. */
  received(): Promise<bigint>
  /** An honest answer to an offer. */
  pay(offer: Challenged): Promise<ShownPayment>
  /** Answers to an offer that each lie about one thing. */
  lies(offer: Challenged): Promise<Readonly<Record<string, ShownPayment>>>
  /** An answer signed by somebody without money. */
  poor(offer: Challenged): Promise<ShownPayment>
  /** An answer to a challenge of ours, over these terms, that is no longer open. */
  late(terms: Terms): Promise<ShownPayment>
  close(): Promise<void>
}

let made = 0
export function termsOf(more: Partial<Terms> = {}): Terms {
  const binding = { op: 'image-search', fp: 'a fingerprint', rid: `request-${++made}`, own: '1' }
  const resource = { method: 'GET', url: '/apis/v1/websearch/images/search?q=card' }
  const description = 'An API key or this payment challenge can be used.'
  return { amount: micros(5000), description, binding, resource, ...more }
}

/** The rules of every payment method, on any network. */
export function paymentMethodContract(name: string, open: () => Promise<MethodUnderTest>): void {
  describe(`payment method: ${name}`, () => {
    let parts: MethodUnderTest
    let method: PaymentMethod
    beforeAll(async () => {
      parts = await open()
      method = parts.method
    })
    beforeEach(() => parts.setFault('ok'))
    afterAll(() => parts.close())

    async function read(shown: ShownPayment): Promise<ReadCredential> {
      const found = await method.read(shown)
      if (!found?.ok) throw new Error(found ? found.error.code : 'not of this method')
      return found.value
    }
    async function honest(terms = termsOf()): Promise<ReadCredential> {
      return read(await parts.pay(await offered(method, terms)))
    }
    /** The network's answer, once the sent transaction is in a block. */
    async function told({ handle }: Pick<ReadCredential, 'handle'>): Promise<PaymentFate> {
      const fate = await method.lookUp(handle)
      return fate.kind === 'open' ? Bun.sleep(20).then(() => told({ handle })) : fate
    }
    /** The result of reading or judging it. */
    async function verdict(shown: ShownPayment, terms: Terms): Promise<PaymentRefusalCode | 'valid'> {
      const found = await method.read(shown)
      if (!found) throw new Error('not of this method')
      if (!found.ok) return found.error.code
      const valid = await method.validate(found.value, terms)
      return valid.ok ? 'valid' : valid.error.code
    }

    test('an offer has method, intent, amount, currency and both ways to pay (spec 2.4)', async () => {
      const { challenge } = await offered(method, termsOf())
      const request = JSON.parse(Buffer.from(/request="([^"]+)"/.exec(challenge)?.[1] ?? '', 'base64url').toString())
      expect(challenge).toContain(`method="${method.name}"`)
      expect(challenge).toContain('intent="charge"')
      expect(challenge).toContain('An API key or this payment challenge can be used.')
      expect(request).toMatchObject({ amount: '5000', currency: method.currency })
    })

    test('an honest credential is valid, its payer comes from the signature, and nothing has moved yet', async () => {
      const terms = termsOf()
      const before = await parts.received()
      const credential = await honest(terms)
      expect(await method.validate(credential, terms)).toEqual({ ok: true, value: { payer: parts.payer } })
      expect(await method.lookUp(credential.handle)).toEqual({ kind: 'open' })
      expect((await parts.received()) - before).toBe(0n)
    })

    test('settling moves the amount once, however often it is called', async () => {
      const before = await parts.received()
      const credential = await honest()
      const first = await method.settle(credential)
      await method.settle(credential)
      expect(first.kind).toBe('settled')
      expect((await parts.received()) - before).toBe(5000n)
      expect((await method.lookUp(credential.handle)).kind).toBe('settled')
    })

    test('every false statement about the offer is refused, and moves nothing', async () => {
      const terms = termsOf()
      const before = await parts.received()
      for (const [what, shown] of Object.entries(await parts.lies(await offered(method, terms))))
        expect([what, await verdict(shown, terms)]).toEqual([
          what,
          expect.stringMatching(/^(verification_failed|invalid_challenge)$/),
        ])
      expect((await parts.received()) - before).toBe(0n)
    })

    test('a credential is valid only for its own terms', async () => {
      const terms = termsOf()
      const shown = await parts.pay(await offered(method, terms))
      expect(await verdict(shown, { ...terms, amount: micros(50_000) })).toBe('invalid_challenge')
      expect(await verdict(shown, { ...terms, binding: { ...terms.binding, fp: 'another' } })).toBe('invalid_challenge')
      expect(await verdict(shown, terms)).toBe('valid')
    })

    test('a payer without enough money is refused before anything runs', async () => {
      const terms = termsOf()
      expect(await verdict(await parts.poor(await offered(method, terms)), terms)).toBe('verification_failed')
    })

    test('an expired challenge is refused as expired', async () => {
      const terms = termsOf()
      expect(await verdict(await parts.late(terms), terms)).toBe('payment_expired')
    })

    test("a dead node is not the payer's fault, and leaves the outcome of what was sent open", async () => {
      const terms = termsOf()
      const shown = await parts.pay(await offered(method, terms))
      const credential = await read(shown)
      parts.setFault('dead')
      expect(await verdict(shown, terms)).toBe('payment_network_unavailable')
      expect((await method.settle(credential)).kind).toBe('unknown')
      expect(await method.lookUp(credential.handle)).toEqual({ kind: 'open' })
      expect(await method.balance(parts.payer)).toBeNull()
    })

    test('a lost reply is not a refusal: the network reports the outcome later', async () => {
      const before = await parts.received()
      const credential = await honest()
      parts.setFault('loses replies to sendings')
      expect((await method.settle(credential)).kind).toBe('unknown')
      expect((await told(credential)).kind).toBe('settled')
      expect((await parts.received()) - before).toBe(5000n)
    })

    test("the payer's balance is the one on the network", async () => {
      const before = (await method.balance(parts.payer)) ?? 0n
      await method.settle(await honest())
      expect(before - ((await method.balance(parts.payer)) ?? 0n)).toBeGreaterThanOrEqual(5000n)
    })
  })
}
