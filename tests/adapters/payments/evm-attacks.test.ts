import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { type Authorization, transferCall } from '../../../server/adapters/payments/mpp/evm/eip3009'
import { evmMethod } from '../../../server/adapters/payments/mpp/evm/evm'
import type { EvmOptions } from '../../../server/adapters/payments/mpp/evm/evm-network'
import { tokenProblem } from '../../../server/adapters/payments/mpp/evm/token-check'
import { micros } from '../../../server/core/money'
import type { PaymentMethod, ReadCredential, Terms } from '../../../server/core/payments/method'
import { termsOf } from '../../contracts/payment-method.contract'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import { offered } from '../../support/payments/payable-offer'
import { MERCHANT, PAYER, stranger } from '../../support/payments/payment-sandbox'

const PRICE = 5000n
const GWEI = 10n ** 9n

describe('attacks on the evm method', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let troubles: string[] = []
  let ahead = 0
  beforeAll(async () => {
    sandbox = await openEvmSandbox()
  })
  beforeEach(() => {
    troubles = []
    ahead = 0
  })
  afterEach(() => sandbox.setFault('ok'))
  afterAll(() => sandbox.close())

  const method = (more: Partial<EvmOptions> = {}) => {
    const told = troubles
    return evmMethod({
      ...sandbox.options,
      secret: 'a secret that only this test knows, long enough',
      realm: 'localhost',
      origin: 'http://localhost',
      now: () => Date.now() + ahead,
      onTrouble: (what, reason) => told.push(`${what}: ${reason}`),
      ...more,
    })
  }
  /** Of another operator, with a relayer and a secret of its own, and the same recipient. */
  const another = async (more: Partial<EvmOptions> = {}) => {
    const relayerKey = generatePrivateKey()
    await sandbox.ask('anvil_setBalance', [privateKeyToAccount(relayerKey).address, '0xde0b6b3a7640000'])
    return method({ relayerKey, secret: 'what the other operator alone knows, long enough', ...more })
  }
  const read = async (paying: PaymentMethod, header: string): Promise<ReadCredential> => {
    const found = await paying.read({ scheme: 'payment', text: header.replace(/^Payment /, '') })
    if (!found?.ok) throw new Error('not readable')
    return found.value
  }
  const credential = async (paying: PaymentMethod, terms: Terms = termsOf()) =>
    read(paying, await sandbox.lie((await offered(paying, terms)).challenge, {}))
  /** x402 without an echo of the offer: it names no gateway. */
  const bare = async (paying: PaymentMethod, terms: Terms) => {
    const { more } = await offered(paying, terms)
    return sandbox.x402Lie(more['payment-required'] ?? '', {}, () => ({ extensions: undefined }))
  }
  const readX402 = async (paying: PaymentMethod, text: string) => {
    const found = await paying.read({ scheme: 'x402', text })
    if (!found?.ok) throw new Error('not readable')
    return found.value
  }
  const authorizationOf = ({ credential: shown }: ReadCredential) =>
    (shown as { authorization: Authorization }).authorization
  const received = () => sandbox.balance(MERCHANT)
  /** Past what was asked of the chain a moment ago. */
  const later = () => {
    ahead += 3000
  }

  describe('one authorization at two gateways that share a recipient', () => {
    test('pays one of them, concurrently or in sequence', async () => {
      const gateways = [method(), await another()]
      for (const atOnce of [true, false]) {
        const text = await bare(gateways[0] ?? method(), termsOf())
        const reads = await Promise.all(gateways.map((gateway) => readX402(gateway, text)))
        const before = await received()
        const settling = gateways.map((gateway, i) => () => gateway.settle(reads[i] as ReadCredential))
        const outcomes = []
        if (atOnce) outcomes.push(...(await Promise.all(settling.map((settle) => settle()))))
        else for (const settle of settling) outcomes.push(await settle())
        expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['refused', 'settled'])
        const fates = await Promise.all(
          gateways.map((gateway, i) => gateway.lookUp((reads[i] as ReadCredential).handle)),
        )
        expect(fates.map(({ kind }) => kind).sort()).toEqual(['never', 'settled'])
        expect((await received()) - before).toBe(PRICE)
      }
      expect(troubles.join()).toContain('an authorization was already used and does not count as a payment')
    })

    describe('while our transaction waits for its block, someone else submits the authorization', () => {
      beforeEach(() => sandbox.ask('evm_setAutomine', [false]).then(() => sandbox.ask('evm_setIntervalMining', [0])))
      afterEach(() => sandbox.ask('evm_setAutomine', [true]))

      async function overtaken(paying: PaymentMethod, shown: ReadCredential) {
        const sending = paying.settle(shown)
        // A transaction of ours is in the pool; the other one pays more for its place.
        await sandbox.untilPooled()
        const other = stranger()
        await sandbox.ask('anvil_setBalance', [other.address, '0xde0b6b3a7640000'])
        await sandbox.sendDear(transferCall(authorizationOf(shown)), other)
        await sandbox.ask('evm_mine', [])
        return sending
      }

      test('one signed for our offer counts as paid, because we had sent it', async () => {
        const paying = method()
        expect(await overtaken(paying, await credential(paying))).toMatchObject({ kind: 'settled' })
      })

      test('a top-up does not count, nor does x402 without an echo', async () => {
        const paying = method()
        const binding = { op: 'wallet-topup', fp: 'top-up', rid: 'one', own: '1', account: 'acc_1' }
        const topUp = await credential(paying, termsOf({ binding }))
        expect(await overtaken(paying, topUp)).toMatchObject({ kind: 'refused' })
        const unnamed = await readX402(paying, await bare(paying, termsOf()))
        expect(await overtaken(paying, unnamed)).toMatchObject({ kind: 'refused' })
      })

      test('nor does x402 with an unsigned echo: a holder of the authorization can write another echo for another gateway', async () => {
        const [paying, terms] = [method(), termsOf()]
        const { more } = await offered(paying, terms)
        const shown = await readX402(paying, await sandbox.x402Signature(more['payment-required'] ?? ''))
        expect(shown.binding).not.toBeNull()
        expect((await paying.validate(shown, terms)).ok).toBe(true)
        expect(await overtaken(paying, shown)).toMatchObject({ kind: 'refused' })
      })

      test('x402 with an echo signed by its payer counts: it cannot be used elsewhere', async () => {
        const [paying, terms] = [method(), termsOf()]
        const { more } = await offered(paying, terms)
        const asked = new Response(null, { status: 402, headers: more })
        const shown = await readX402(paying, await sandbox.payer().createCredential(asked))
        expect((await paying.validate(shown, terms)).ok).toBe(true)
        expect(await overtaken(paying, shown)).toMatchObject({ kind: 'settled' })
      })
    })

    test('one that we submitted is found after a restart; one that counted before counts by another relayer too', async () => {
      const paying = method()
      const shown = await credential(paying)
      const settled = await paying.settle(shown)
      expect(settled.kind).toBe('settled')
      expect(await method().lookUp(shown.handle)).toMatchObject(settled)
      const changed = await another()
      expect(await changed.lookUp(shown.handle)).toEqual({ kind: 'never' })
      const reference = Reflect.get(settled, 'reference') as string
      expect(await changed.lookUp({ ...shown.handle, reference })).toMatchObject(settled)
    })
  })

  describe('a token that does not behave as declared', () => {
    afterEach(async () => {
      await sandbox.misbehave('setPaused', false)
      await sandbox.misbehave('setFeePercent', 0n)
      await sandbox.misbehave('setTellsTransferFirst', false)
      await sandbox.misbehave('setBlocked', MERCHANT, false)
      await sandbox.misbehave('setBlocked', PAYER.address, false)
    })
    const judged = async (paying: PaymentMethod, shown: ReadCredential, terms: Terms) => {
      const valid = await paying.validate(shown, terms)
      return valid.ok ? 'valid' : valid.error.code
    }

    test('paused: the operator is informed, nothing is offered, and no payer is blamed', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await credential(paying, terms)
      await sandbox.misbehave('setPaused', true)
      expect(await judged(paying, shown, terms)).toBe('payment_network_unavailable')
      expect(await paying.settle(shown)).toMatchObject({ kind: 'unknown', isOurs: true })
      expect(await paying.offer(termsOf())).toBeNull()
      expect(troubles).toEqual([expect.stringMatching(/the token cannot be transferred to the recipient.*paused/)])
      await sandbox.misbehave('setPaused', false)
      expect(await judged(paying, shown, terms)).toBe('valid')
      expect((await paying.settle(shown)).kind).toBe('settled')
    })

    test('if the token blocks our recipient, it is our fault; if it blocks the payer, the payer’s', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await credential(paying, terms)
      await sandbox.misbehave('setBlocked', MERCHANT, true)
      expect(await judged(paying, shown, terms)).toBe('payment_network_unavailable')
      await sandbox.misbehave('setBlocked', MERCHANT, false)
      await sandbox.misbehave('setBlocked', PAYER.address, true)
      expect(await judged(paying, shown, terms)).toBe('verification_failed')
      expect((await paying.settle(shown)).kind).toBe('refused')
    })

    test('with a fee: no payment is accepted, and one in progress does not count as complete', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await credential(paying, terms)
      await sandbox.misbehave('setFeePercent', 1n)
      expect(await judged(paying, shown, terms)).toBe('payment_network_unavailable')
      expect(troubles.at(-1)).toContain('4950 of 5000')
      const before = await received()
      expect(await paying.settle(shown)).toMatchObject({ kind: 'refused' })
      expect((await received()) - before).toBe(4950n)
      expect(troubles.at(-1)).toContain('did not move the whole amount')
    })

    test('that emits its events in another order still makes a payment', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await credential(paying, terms)
      await sandbox.misbehave('setTellsTransferFirst', true)
      expect(await judged(paying, shown, terms)).toBe('valid')
      const before = await received()
      const settled = await paying.settle(shown)
      expect(settled.kind).toBe('settled')
      expect(await paying.lookUp(shown.handle)).toMatchObject(settled)
      expect((await received()) - before).toBe(PRICE)
    })

    test('with other decimals than configured is found at the start', async () => {
      expect(await tokenProblem(sandbox.options)).toBeNull()
      expect(await tokenProblem({ ...sandbox.options, decimals: 18 })).toBe('the token has 6 decimals, not 18')
    })
  })

  describe.each([
    ['of another chain', 'serves chain 8453'],
    ['halted', 'has halted'],
    ['dead', 'does not answer'],
  ] as const)('a node that is %s', (fault, told) => {
    test('is detected at run time: no offer, no payment decided, outcomes stay open, and it recovers without a restart', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await credential(paying, terms)
      expect((await paying.validate(shown, terms)).ok).toBe(true)
      const brought = await credential(paying)
      expect((await paying.settle(brought)).kind).toBe('settled')
      sandbox.setFault(fault)
      later()
      expect(await paying.offer(termsOf())).toBeNull()
      expect(await paying.validate(shown, terms)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
      expect(await paying.lookUp(shown.handle)).toEqual({ kind: 'open' })
      // The answer of a node of another chain about a nonce is about that chain.
      if (fault === 'of another chain') expect(await paying.lookUp(brought.handle)).toEqual({ kind: 'open' })
      expect(troubles).toEqual([expect.stringContaining(told)])
      sandbox.setFault('ok')
      expect(await paying.offer(termsOf())).not.toBeNull()
      expect((await paying.validate(shown, terms)).ok).toBe(true)
    })
  })

  describe('gas at 5,000 gwei', () => {
    const dear = (gwei: bigint) =>
      sandbox
        .ask('anvil_setNextBlockBaseFeePerGas', [`0x${(gwei * GWEI).toString(16)}`])
        .then(() => sandbox.ask('evm_mine', []))
    // No block but those that are asked for, which would make gas cheaper by themselves.
    beforeEach(() => sandbox.ask('evm_setAutomine', [true]))
    afterEach(() => dear(1n))
    /** 0.005 USD of a coin that costs 5,000. */
    const gas = { maxFeePerGas: null, maxCostPerPayment: 10n ** 12n }

    test.each([
      ['a payment', gas],
      ['a unit of gas', { maxFeePerGas: 30n * GWEI, maxCostPerPayment: 10n ** 18n }],
    ])('is above the ceiling of %s: no offer, no decision, nothing sent, no gas spent', async (_, ceiling) => {
      const [paying, terms] = [method({ gas: ceiling }), termsOf()]
      const shown = await credential(method(), terms)
      const spent = () =>
        sandbox.ask('eth_getBalance', [privateKeyToAccount(sandbox.options.relayerKey).address, 'latest'])
      const before = await spent()
      await dear(5000n)
      expect(await paying.offer(termsOf())).toBeNull()
      expect(await paying.validate(shown, terms)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
      expect(await paying.settle(shown)).toMatchObject({ kind: 'unknown', reason: expect.stringContaining('ceiling') })
      expect(await spent()).toBe(before)
      expect(troubles).toEqual([expect.stringContaining('gas is too expensive')])
    })

    test('never bids more than the ceiling, on any path', async () => {
      const most = 5n * 10n ** 14n
      const paying = method({ gas: { maxFeePerGas: null, maxCostPerPayment: most } })
      await dear(1n)
      const settled = await paying.settle(await credential(paying))
      const hash = Reflect.get(settled, 'reference')
      const sent = (await sandbox.ask('eth_getTransactionByHash', [hash])) as Record<'gas' | 'maxFeePerGas', string>
      expect(BigInt(sent.gas) * BigInt(sent.maxFeePerGas)).toBeLessThanOrEqual(most)
    })

    test('a price below the minimum is neither offered nor accepted', async () => {
      const paying = method({ minAmount: micros(5000) })
      expect(await paying.offer(termsOf({ amount: micros(4999) }))).toBeNull()
      const terms = termsOf({ amount: micros(4999) })
      const shown = await credential(method(), terms)
      expect(await paying.validate(shown, terms)).toMatchObject({ error: { code: 'verification_failed' } })
      expect(await paying.offer(termsOf())).not.toBeNull()
    })
  })
})
