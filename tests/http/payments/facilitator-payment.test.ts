import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import { ok } from '../../../server/core/result'
import { openEvmSandbox } from '../../support/evm/evm-sandbox'
import { openFacilitator } from '../../support/evm/facilitator'
import type { Harness } from '../../support/harness'
import { moneyMoved } from '../../support/payments/money-moved'
import { openPayable } from '../../support/payments/payable-harness'
import { MERCHANT } from '../../support/payments/payment-sandbox'
import { endAndReconcile, IMAGES_CALL } from '../wire'

describe('a request whose x402 payment a facilitator settles', () => {
  let sandbox: Awaited<ReturnType<typeof openEvmSandbox>>
  let facilitator: Awaited<ReturnType<typeof openFacilitator>>
  let gateway: Harness

  beforeAll(async () => {
    sandbox = await openEvmSandbox()
    facilitator = await openFacilitator(sandbox)
    const { PAYMENTS_EVM_RELAYER_KEY: _, ...env } = sandbox.env
    gateway = await openPayable({ env: { ...env, ...facilitator.env } })
  })
  beforeEach(() => {
    facilitator.setFault('ok')
    facilitator.asked.length = 0
    gateway.images.asked.length = 0
    gateway.images.answer = async () => ok({ body: '{"fixture":true}' })
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await facilitator.close()
    await sandbox.close()
  })

  const moved = moneyMoved(() => sandbox.balance(MERCHANT))
  const bought = async () =>
    sandbox.x402Signature((await gateway.call(IMAGES_CALL)).headers.get('payment-required') ?? '')
  const paid = (payment: string) => gateway.call(IMAGES_CALL, { headers: { 'payment-signature': payment } })
  const codeOf = async (answer: Response) => (await answer.json()).error?.code

  test('is served once, sent twenty times at once: one settlement, one transfer by the facilitator', async () => {
    const payment = await bought()
    const amount = await moved(async () => {
      const answers = await Promise.all(Array.from({ length: 20 }, () => paid(payment)))
      const served = answers.filter(({ status }) => status === 200)
      expect(served).toHaveLength(1)
      expect(served[0]?.headers.get('payment-response')).not.toBeNull()
      expect((await paid(payment)).status).toBe(402)
    })
    expect([amount, facilitator.settlements(), gateway.images.asked.length]).toEqual([5000n, 1, 1])
  })

  test('that fails upstream is never shown to it for settlement', async () => {
    const payment = await bought()
    gateway.images.answer = async () => ({ ok: false, error: { kind: 'error', reason: 'fixture' } })
    expect((await paid(payment)).status).toBe(502)
    expect(facilitator.settlements()).toBe(0)
  })

  test('that it refuses after the upstream worked is 402 with a new offer; nothing is answered or moved', async () => {
    const payment = await bought()
    facilitator.setFault('refuses')
    const amount = await moved(async () => {
      const answer = await paid(payment)
      expect([answer.status, await codeOf(answer)]).toEqual([402, 'verification_failed'])
      expect(answer.headers.get('payment-required')).not.toBeNull()
    })
    expect(amount).toBe(0n)
  })

  test('whose reply is lost is found on the chain and answered; asked for again, it is used', async () => {
    const payment = await bought()
    facilitator.setFault('settles and fails')
    const amount = await moved(async () => {
      expect((await paid(payment)).status).toBe(200)
      expect(await codeOf(await paid(payment))).toBe('invalid_challenge')
    })
    expect(amount).toBe(5000n)
  })

  test('that it claims to have settled gets no answer and no challenge while the chain has no transfer', async () => {
    const payment = await bought()
    // Of an earlier payment, which the chain has.
    facilitator.setFault('says that another transfer settled it')
    const amount = await moved(async () => {
      const answer = await paid(payment)
      expect([answer.status, await codeOf(answer)]).toEqual([503, 'payment_pending'])
      expect(answer.headers.get('payment-required')).toBeNull()
      // The answer waits, so that the upstream is not asked twice.
      facilitator.setFault('ok')
      expect((await paid(payment)).status).toBe(200)
    })
    expect([amount, gateway.images.asked.length]).toEqual([5000n, 1])
  })
})
