import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { trustedFetch } from '../../../server/adapters/outbound/one-hop'
import { evmMethod } from '../../../server/adapters/payments/mpp/evm/evm'
import type { EvmOptions } from '../../../server/adapters/payments/mpp/evm/evm-network'
import type { PaymentMethod, ReadCredential } from '../../../server/core/payments/method'
import { termsOf } from '../../contracts/payment-method.contract'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import { type FacilitatorFault, openFacilitator } from '../../support/evm/facilitator'
import { offered } from '../../support/payments/payable-offer'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'

const PRICE = 5000n
const TERMS = termsOf()
/** How long an answer is waited for that never comes. */
const SOON = { timeoutMs: 500 }

describe('settlement by a facilitator, which is believed as far as the chain confirms it', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let facilitator: Awaited<ReturnType<typeof openFacilitator>>
  let troubles: string[] = []
  let hangs = false
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    facilitator = await openFacilitator(sandbox)
  })
  beforeEach(() => {
    troubles = []
    sandbox.setFault('ok')
    facilitator.setFault('ok')
    facilitator.asked.length = 0
  })
  afterAll(async () => {
    await facilitator.close()
    await sandbox.close()
  })

  const method = (more: Partial<EvmOptions> = {}, authorization = 'Bearer of this test') => {
    const told = troubles
    const url = facilitator.env.PAYMENTS_FACILITATOR_URL
    return evmMethod({
      ...sandbox.options,
      secret: 'a secret that only this test knows, long enough',
      realm: 'localhost',
      origin: 'http://localhost',
      relayerKey: null,
      facilitator: { url, authorization, fetch: (request) => trustedFetch({ ...request, ...(hangs && SOON) }) },
      now: () => Date.now(),
      onTrouble: (what, reason) => told.push(`${what}: ${reason}`),
      ...more,
    })
  }
  /** A payment in each form that the method takes. */
  const FORMS = {
    'the Payment scheme': async (paying: PaymentMethod, payer = PAYER) => {
      const { challenge } = await offered(paying, TERMS)
      return { scheme: 'payment', text: (await sandbox.lie(challenge, {}, payer)).replace(/^Payment /, '') } as const
    },
    'x402 version 2': async (paying: PaymentMethod, payer = PAYER) => {
      const { more } = await offered(paying, TERMS)
      return { scheme: 'x402', text: await sandbox.x402Signature(more['payment-required'] ?? '', payer) } as const
    },
    'x402 version 1': async (paying: PaymentMethod, payer = PAYER) => {
      const { body } = await offered(paying, TERMS)
      return { scheme: 'x402', text: await sandbox.x402V1Payment(body, payer) } as const
    },
  }
  const payment = async (paying: PaymentMethod, form: keyof typeof FORMS = 'x402 version 2', payer = PAYER) => {
    const found = await paying.read(await FORMS[form](paying, payer))
    if (!found?.ok) throw new Error(found ? found.error.code : 'of another method')
    return found.value
  }
  const received = () => sandbox.balance(MERCHANT)
  /** The outcome of settling while the facilitator misbehaves, and the moved amount. */
  async function settledWith(fault: FacilitatorFault, read: ReadCredential, paying: PaymentMethod) {
    const before = await received()
    facilitator.setFault(fault)
    hangs = fault.endsWith('hangs')
    const outcome = await paying.settle(read)
    hangs = false
    facilitator.setFault('ok')
    return { outcome, moved: (await received()) - before }
  }

  test.each(Object.keys(FORMS) as (keyof typeof FORMS)[])('settles a payment of %s, once', async (form) => {
    const paying = method()
    const read = await payment(paying, form)
    const before = await received()
    expect(await paying.validate(read, TERMS)).toEqual({ ok: true, value: { payer: PAYER.address.toLowerCase() } })
    expect((await received()) - before).toBe(0n)
    const outcome = await paying.settle(read)
    expect(outcome.kind).toBe('settled')
    expect(await paying.settle(read)).toMatchObject(outcome)
    expect(await paying.lookUp(read.handle)).toMatchObject(outcome)
    expect((await received()) - before).toBe(PRICE)
  })

  test('may list the route that was paid for, and neither what its buyer asked nor what its buyer wrote', async () => {
    const paying = method()
    const { more } = await offered(paying, TERMS)
    const text = await sandbox.x402Lie(more['payment-required'] ?? '', {}, (sent) => {
      const extensions = Object(sent.extensions)
      const input = { type: 'http', method: 'GET', queryParams: { q: 'my illness' }, body: 'BUY AT EVIL.EXAMPLE' }
      return {
        resource: { ...sent.resource, description: 'BUY AT EVIL.EXAMPLE' },
        extensions: {
          ...extensions,
          bazaar: { info: { input, output: 'BUY AT EVIL.EXAMPLE' }, schema: {} },
          evil: { info: { say: 'EVIL.EXAMPLE' }, schema: {} },
        },
      }
    })
    const read = await paying.read({ scheme: 'x402', text })
    if (!read?.ok) throw new Error(read?.error.reason)
    expect((await paying.validate(read.value, TERMS)).ok).toBe(true)
    expect((await paying.settle(read.value)).kind).toBe('settled')
    expect(facilitator.asked.map(({ path }) => path)).toEqual(['/x402/verify', '/x402/settle'])
    for (const { body } of facilitator.asked) {
      expect(body).toMatchObject({
        x402Version: 2,
        paymentPayload: {
          resource: { url: 'http://localhost/apis/v1/websearch/images/search' },
          extensions: { bazaar: { info: { input: { type: 'http', method: 'GET', queryParams: {} } } } },
        },
        paymentRequirements: { scheme: 'exact', amount: '5000', payTo: MERCHANT },
      })
      expect(JSON.stringify(body)).not.toMatch(/EVIL|illness|card/)
    }
  })

  test('its settlements count after the operator went back to a relayer, or to another facilitator', async () => {
    const paying = method()
    const read = await payment(paying)
    const { outcome } = await settledWith('settles and hangs', read, paying)
    expect(outcome.kind).toBe('unknown')
    const { relayerKey } = sandbox.options
    for (const later of [method({ relayerKey, facilitator: null }), method()])
      expect(await later.lookUp(read.handle)).toMatchObject({ kind: 'settled' })
    // And what the relayer sent, after it gave way to a facilitator.
    const relayed = method({ relayerKey, facilitator: null })
    const sent = await payment(relayed)
    expect((await relayed.settle(sent)).kind).toBe('settled')
    expect(await method().lookUp(sent.handle)).toMatchObject({ kind: 'settled' })
  })

  test('a payment that we refuse is never shown to it, and one that it refuses is refused before anything runs', async () => {
    const paying = method()
    const poor = await payment(paying, 'x402 version 2', stranger())
    expect(await paying.validate(poor, TERMS)).toMatchObject({ error: { code: 'verification_failed' } })
    const dear = { ...TERMS, amount: 50_000 as typeof TERMS.amount }
    expect((await paying.validate(await payment(paying), dear)).ok).toBe(false)
    expect(facilitator.asked).toEqual([])
  })

  test('one that refuses: nothing moved, and the payer may pay again', async () => {
    const paying = method()
    const { outcome, moved } = await settledWith('refuses', await payment(paying), paying)
    expect([outcome.kind, moved]).toEqual(['refused', 0n])
  })

  test('one that says it refused, after it settled, cannot take money for nothing', async () => {
    const paying = method()
    const read = await payment(paying)
    await paying.settle(read)
    const { outcome, moved } = await settledWith('refuses', read, paying)
    expect([outcome.kind, moved]).toEqual(['settled', 0n])
  })

  test('one that hangs, or fails after it settled: unknown until the chain tells', async () => {
    const paying = method()
    const hung = await payment(paying)
    expect(await settledWith('hangs', hung, paying)).toMatchObject({
      outcome: { kind: 'unknown', isOurs: true },
      moved: 0n,
    })
    expect(await paying.lookUp(hung.handle)).toEqual({ kind: 'open' })
    for (const fault of ['settles and hangs', 'settles and fails'] as const) {
      const read = await payment(paying)
      expect(await settledWith(fault, read, paying)).toMatchObject({
        outcome: { kind: 'unknown', isOurs: true },
        moved: PRICE,
      })
      expect(await paying.lookUp(read.handle)).toMatchObject({ kind: 'settled' })
      const again = await settledWith('ok', read, paying)
      expect([again.outcome.kind, again.moved]).toEqual(['settled', 0n])
    }
  })

  test('one that lies: a transfer that is not on the chain, or is of another payment, pays nothing, and is in the log', async () => {
    const paying = method({ blockWaitMs: 500 })
    for (const fault of ['says that it settled', 'says that another transfer settled it'] as const) {
      const read = await payment(paying)
      const { outcome, moved } = await settledWith(fault, read, paying)
      expect([fault, outcome.kind, moved]).toEqual([fault, 'unknown', 0n])
      expect(troubles.join()).toContain('a payment that the chain does not confirm')
      expect(await paying.lookUp({ ...read.handle, validBefore: Date.now() - 60_000 })).toEqual({ kind: 'never' })
    }
  })

  test('one that is down, refuses our credential or serves another chain: no offers, and 503 before anything runs', async () => {
    const read = await payment(method())
    facilitator.setFault('is down')
    const paying = method()
    expect(await paying.offer(TERMS)).toBeNull()
    expect(await paying.validate(read, TERMS)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
    facilitator.setFault('ok')
    const unknown = method({}, 'Bearer of somebody else')
    expect(await unknown.offer(TERMS)).toBeNull()
    expect(await unknown.validate(read, TERMS)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
    expect(troubles.join()).toMatch(/does not answer: status 503.*status 401/)
    expect(troubles.join()).not.toContain('of somebody else')
    expect(facilitator.settlements()).toBe(0)
  })
})
