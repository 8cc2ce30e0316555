import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { tempoMethod } from '../../../server/adapters/payments/mpp/tempo'
import { SANDBOX_CHAIN_ID, SANDBOX_TOKEN } from '../../../server/adapters/payments/sandbox-chain/sandbox-chain'
import { termsOf } from '../../contracts/payment-method.contract'
import { offered } from '../../support/payments/payable-offer'
import { MERCHANT, openPaymentSandbox } from '../../support/payments/payment-sandbox'

describe('attacks on the tempo method', () => {
  let sandbox: Awaited<ReturnType<typeof openPaymentSandbox>>
  let troubles: string[] = []
  let ahead = 0
  beforeAll(async () => {
    sandbox = await openPaymentSandbox()
  })
  beforeEach(() => {
    troubles = []
    ahead = 0
  })
  afterEach(() => sandbox.setFault('ok'))
  afterAll(() => sandbox.close())

  const method = () =>
    tempoMethod({
      rpcUrl: sandbox.nodeUrl,
      chainId: SANDBOX_CHAIN_ID,
      token: SANDBOX_TOKEN,
      decimals: 6,
      recipient: MERCHANT,
      secret: 'a secret that only this test knows, long enough',
      realm: 'localhost',
      confirmations: 3,
      maxBlockAgeMs: 20_000,
      now: () => Date.now() + ahead,
      onTrouble: (what, reason) => troubles.push(`${what}: ${reason}`),
    })
  const paid = async (paying: ReturnType<typeof method>, terms = termsOf()) => {
    const { challenge } = await offered(paying, terms)
    const asked = new Response(null, { status: 402, headers: { 'www-authenticate': challenge } })
    const text = (await sandbox.payer().createCredential(asked)).replace(/^Payment /, '')
    const found = await paying.read({ scheme: 'payment', text })
    if (!found?.ok) throw new Error('not readable')
    return found.value
  }

  describe.each([
    ['of another chain', 'serves chain 8453'],
    ['halted', 'has halted'],
    ['dead', 'does not answer'],
  ] as const)('a node that is %s', (fault, told) => {
    test('is detected at run time: no offer, no payment decided, outcomes stay open, and it recovers without a restart', async () => {
      const [paying, terms] = [method(), termsOf()]
      const shown = await paid(paying, terms)
      expect((await paying.validate(shown, terms)).ok).toBe(true)
      sandbox.setFault(fault)
      // Past what was asked of the chain a moment ago.
      ahead += 3000
      expect(await paying.offer(termsOf())).toBeNull()
      expect(await paying.validate(shown, terms)).toMatchObject({ error: { code: 'payment_network_unavailable' } })
      if (fault === 'dead') expect(await paying.settle(shown)).toMatchObject({ kind: 'unknown', isOurs: true })
      // Long after its last second, by our clock; the chain has said nothing about it.
      ahead += 600_000
      expect(await paying.lookUp(shown.handle)).toEqual({ kind: 'open' })
      ahead = 0
      expect(troubles).toEqual([expect.stringContaining(told)])
      sandbox.setFault('ok')
      expect(await paying.offer(termsOf())).not.toBeNull()
      expect((await paying.validate(shown, terms)).ok).toBe(true)
    })
  })

  test('a payment is final after as many blocks as configured, and not before', async () => {
    const paying = method()
    const shown = await paid(paying)
    expect(await paying.settle(shown)).toMatchObject({ kind: 'settled' })
    const isFinal = async (): Promise<boolean> => {
      const fate = await paying.lookUp(shown.handle)
      return fate.kind === 'settled' && fate.isFinal === true
    }
    expect(await isFinal()).toBe(false)
    await sandbox.ask('anvil_mine', ['0x2'])
    expect(await isFinal()).toBe(true)
  })

  describe('a node with incomplete answers', () => {
    afterEach(() => {
      for (const method of ['eth_getTransactionReceipt', 'eth_getTransactionByHash', 'eth_sendRawTransactionSync'])
        sandbox.sayInstead(method, null)
    })

    test('a payment that it accepted and cannot find is unknown, not refused: it can still settle', async () => {
      const paying = method()
      const shown = await paid(paying)
      for (const asked of ['eth_sendRawTransactionSync', 'eth_getTransactionByHash'])
        sandbox.sayInstead(asked, 'an error')
      expect(await paying.settle(shown)).toMatchObject({ kind: 'unknown', isOurs: false })
      sandbox.sayInstead('eth_getTransactionByHash', 'nothing')
      expect((await paying.settle(shown)).kind).toBe('refused')
    })

    // The last ones: the chain's clock does not go back.
    test('a payment is not lost if the node does not report it, or keeps receipts briefly; after a reorganization it is', async () => {
      const paying = method()
      expect(await paying.settle(await paid(paying))).toMatchObject({ kind: 'settled' })
      const shown = await paid(paying)
      const before = await sandbox.ask('evm_snapshot', [])
      const settled = await paying.settle(shown)
      expect(settled.kind).toBe('settled')
      const handle = { ...shown.handle, reference: shown.handle.transaction }
      const muchLater = async () => {
        await sandbox.ask('evm_increaseTime', [1000])
        await sandbox.ask('anvil_mine', ['0x1'])
      }
      await muchLater()
      expect((await paying.lookUp(handle)).kind).toBe('settled')
      for (const excuse of ['an error', 'nothing'] as const) {
        sandbox.sayInstead('eth_getTransactionReceipt', excuse)
        expect([excuse, await paying.lookUp(handle)]).toEqual([excuse, { kind: 'open' }])
      }
      sandbox.sayInstead('eth_getTransactionReceipt', null)
      expect(Boolean(await sandbox.ask('evm_revert', [before]))).toBe(true)
      await muchLater()
      expect(await paying.lookUp(handle)).toEqual({ kind: 'never' })
    })
  })
})
