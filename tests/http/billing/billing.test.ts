import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { newClaim } from '../../support/payments/payment-claim'
import { endAndReconcile } from '../wire'

describe('billing (spec 2.2, 3, spec D4)', () => {
  let gateway: Harness
  let operator: Awaited<ReturnType<Harness['owner']>>
  let owner: Awaited<ReturnType<Harness['owner']>>

  beforeAll(async () => {
    gateway = await openHarness({ env: { SANDBOX_TOPUPS: 'true' } })
    operator = await gateway.owner()
    owner = await gateway.owner()
  })
  afterAll(() => endAndReconcile(gateway))

  const billing = async () => (await owner.api('/api/billing')).json()

  test('a new account has its signup credit, is Free, and sees how it can top up', async () => {
    expect(await billing()).toEqual({
      balance_micros_usd: 2_000_000,
      available_micros_usd: 2_000_000,
      held_micros_usd: 0,
      credit_micros_usd: 2_000_000,
      paid_micros_usd: 0,
      debt_micros_usd: 0,
      topped_up_micros_usd: 0,
      tier: 'free',
      topup_methods: ['sandbox'],
    })
  })

  test('a sandbox top-up is labeled as one, is in the balance at once, and makes the account Starter', async () => {
    const answer = await owner.api('/api/topups', { amount: '10.00', method: 'sandbox' })
    expect([answer.status, await answer.json()]).toEqual([
      201,
      {
        topup: expect.objectContaining({ state: 'paid', method: 'sandbox', amount_micros_usd: 10_000_000 }),
        url: null,
      },
    ])
    expect(await billing()).toMatchObject({
      balance_micros_usd: 12_000_000,
      paid_micros_usd: 10_000_000,
      tier: 'starter',
    })
    const { transactions } = (await (await owner.api('/api/transactions')).json()) as { transactions: unknown[] }
    expect(transactions[0]).toMatchObject({
      kind: 'top_up',
      amount_micros_usd: 10_000_000,
      balance_after_micros_usd: 12_000_000,
      description: expect.stringContaining('Sandbox'),
    })
  })

  test("top-ups are listed with their receipts, only the account's own", async () => {
    const { topups } = (await (await owner.api('/api/topups')).json()) as { topups: { reference: string }[] }
    expect(topups.map(({ reference }) => reference)).toEqual(['sandbox'])
    expect(await (await operator.api('/api/topups')).json()).toEqual({
      topups: [],
      topup_methods: ['sandbox'],
      next_cursor: null,
    })
  })

  test('amounts and methods are validated', async () => {
    for (const body of [
      { amount: '0.99', method: 'sandbox' },
      { amount: 10, method: 'sandbox' },
      { amount: '10.00', method: 'card' },
      { amount: '10.00', method: 'sandbox', currency: 'JPY' },
      {},
    ])
      expect((await owner.api('/api/topups', body)).status).toBe(400)
    expect((await gateway.call('/api/topups', { method: 'POST' })).status).toBe(401)
  })

  test('pay-per-request payments are only for operators, failed ones included', async () => {
    const claim = newClaim()
    await gateway.core.stores.paymentClaims.take(claim, claim.createdAt)
    await gateway.core.stores.paymentClaims.release(claim.key, 'upstream 502', false, claim.createdAt)
    const { payments } = (await (await operator.api('/api/payments')).json()) as { payments: unknown[] }
    expect(payments).toEqual([
      expect.objectContaining({
        id: claim.id,
        state: 'released',
        payer: claim.payer,
        error: 'upstream 502',
        request_id: claim.requestId,
      }),
    ])
    expect((await owner.api('/api/payments')).status).toBe(403)
  })

  test('a refund of money that was spent leaves a debt: nothing can be spent until a top-up repays it', async () => {
    const account = await gateway.account()
    const key = await gateway.key(account)
    const ledger = gateway.core.ledger
    const credit = (amount: number, reference: string) =>
      ledger.credit({
        account: account.id,
        part: 'paid',
        kind: 'top_up',
        amount: amount as never,
        description: 't',
        reference,
      })
    await credit(5_000_000, 'one')
    const refund = {
      account: account.id,
      kind: 'refund',
      amount: 5_000_000 as never,
      description: 'r',
      reference: 'refund',
    } as const
    await gateway.core.operator.setPrice(
      { kind: 'operator', id: 'test', address: null },
      'image-search',
      account.id,
      4_000_000 as never,
    )
    expect((await gateway.as(key, '/apis/v1/websearch/images/search?q=a')).status).toBe(200)
    // Charges reach the tables a moment later, and the list is in the order of the tables.
    await gateway.core.stores.applied()
    expect((await ledger.takeBack(refund)).ok).toBe(true)
    expect(await ledger.takeBack(refund)).toEqual({ ok: false, error: 'already_booked' })
    // 2 of credit and 2 of 5 paid were spent: 3 go back, 2 are owed.
    expect(await ledger.balance(account.id)).toMatchObject({
      paid: 0,
      debt: 2_000_000,
      posted: -2_000_000,
      available: 0,
      toppedUp: 0,
    })
    await ledger.credit({
      account: account.id,
      part: 'credit',
      kind: 'grant',
      amount: 9_000_000 as never,
      description: 'g',
      reference: 'g',
    })
    expect((await gateway.as(key, '/apis/v1/websearch/llm/context?q=a')).status).toBe(402)
    await credit(3_000_000, 'two')
    expect(await ledger.balance(account.id)).toMatchObject({
      paid: 1_000_000,
      debt: 0,
      posted: 10_000_000,
      available: 10_000_000,
    })
    expect((await gateway.as(key, '/apis/v1/websearch/llm/context?q=a')).status).toBe(200)
    const page = await gateway.core.statements.transactions(account.id, 10, null)
    expect(page?.rows.map(({ kind, amount, balanceAfter }) => [kind, Number(amount), Number(balanceAfter)])).toEqual([
      ['charge', -5000, 9_995_000],
      ['top_up', 3_000_000, 10_000_000],
      ['grant', 9_000_000, 7_000_000],
      ['refund', -5_000_000, -2_000_000],
      ['charge', -4_000_000, 3_000_000],
      ['top_up', 5_000_000, 7_000_000],
      ['signup_credit', 2_000_000, 2_000_000],
    ])
  })

  test('a debt survives a restart', async () => {
    const account = await gateway.account()
    await gateway.core.ledger.takeBack({
      account: account.id,
      kind: 'dispute',
      amount: 7 as never,
      description: 'd',
      reference: 'dispute',
    })
    await gateway.close(true)
    gateway = await openHarness({ folder: gateway.folder, env: { SANDBOX_TOPUPS: 'true' } })
    expect(await gateway.core.ledger.balance(account.id)).toMatchObject({ debt: 7, available: 0 })
  })
})
