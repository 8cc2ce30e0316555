import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test'
import type { OneRefund, Refund, RefundList } from '../../../server/http/operator/customers/customer-record'
import type { Reconciled, Reconciliations } from '../../../server/http/operator/money/reconcile-record'
import type { OneOperatorAccount } from '../../../server/http/operator/record'
import type { RequestPage, UsageReport } from '../../../server/http/usage/record'
import { type Harness, openHarness } from '../../support/harness'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../../support/payments/stripe-double'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  IMAGES,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let stripe: StripeDouble
let gateway: Harness
let operator: Owner
let owner: Owner
let id: `acct_${string}`

beforeAll(async () => {
  stripe = openStripeDouble()
  gateway = await openHarness({
    running: true,
    env: { STRIPE_SECRET_KEY: STRIPE_KEY, STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET, STRIPE_API_URL: stripe.url },
  })
  operator = await gateway.owner('root@example.com')
})
beforeEach(async () => {
  stripe.setDown(false)
  stripe.setRefunding('succeeded')
  owner = await gateway.owner()
  id = (await read<AccountBody>(owner.api('/api/account'))).id as `acct_${string}`
})
afterAll(async () => {
  await closeReconciled(gateway)
  await stripe.close()
})

const at = (path: string) => `/api/operator/accounts/${id}${path}`
const balance = async () => (await gateway.core.ledger.balance(id))!
const usd = (amount: number) => Math.round(amount * 1_000_000)

describe('a debit', () => {
  const debit = (amount: string, reference?: string) =>
    operator.api(at('/debits'), { usd: amount, note: 'A wrong grant', ...(reference && { reference }) })

  test('takes credit first, once per reference, and the owner reads why; nothing is changed, an entry is added', async () => {
    await read(operator.api(at('/grants'), { usd: '10', reference: `g-${id}` }))
    const { account } = await read<OneOperatorAccount>(debit('10', `d-${id}`))
    expect(account.balance_usd).toBe('2')
    expect(await refusalOf(debit('10', `d-${id}`))).toMatchObject({ status: 409, code: 'invalid_state' })
    const { transactions } = await read<{ transactions: { kind: string; description: string }[] }>(
      owner.api('/api/transactions'),
    )
    expect(transactions.map(({ kind }) => kind)).toEqual(['debit', 'grant', 'signup_credit'])
    expect(transactions[0]?.description).toBe('A wrong grant')
    const row = (await auditRows(gateway)).findLast(({ action }) => action === 'account.debit')
    expect(row).toMatchObject({ actor_kind: 'operator', address: '127.0.0.1', account_id: id })
  })

  test('is never more than what is available: what a call holds stays, and nothing goes below zero', async () => {
    const held = await gateway.core.ledger.hold({
      request: `req_${id.slice(5)}`,
      account: id,
      pool: null,
      amount: usd(1.5) as never,
      creditPays: true,
      at: gateway.clock.now(),
    })
    expect(held.ok).toBe(true)
    const refusal = await refusalOf(debit('1'))
    expect(refusal).toMatchObject({ status: 409, code: 'invalid_state' })
    expect(refusal.message).toContain('0.5 USD')
    await read(debit('0.5'))
    expect(await balance()).toMatchObject({ posted: usd(1.5), available: 0 })
    await gateway.core.ledger.release(`req_${id.slice(5)}`)
  })

  test('during parallel calls and other debits takes the available balance, and no more', async () => {
    const { secret } = await keyBench(owner).create()
    const acts = Array.from({ length: 60 }, (_, n) =>
      n % 3 === 0
        ? debit('0.3').then(({ status }) => (status === 200 ? usd(0.3) : 0))
        : callWith(gateway, secret).then((answer) => (answer === '200' ? 5000 : 0)),
    )
    const spent = (await Promise.all(acts)).reduce((sum, one) => sum + one, 0)
    expect(await balance()).toMatchObject({ posted: usd(2) - spent, held: 0 })
    expect(spent).toBeLessThanOrEqual(usd(2))
  })
})

describe('the refund of a charge', () => {
  const charged = async () => {
    const { secret } = await keyBench(owner).create()
    return (await gateway.as(secret, IMAGES)).headers.get('x-gateway-request-id') ?? ''
  }
  const refund = (payment: string, amount?: string) =>
    operator.api(at('/refunds'), { payment, note: 'It was our fault', ...(amount && { usd: amount }) })

  test('gives back all of it, at most once, also ten times in parallel; the call stays in the log', async () => {
    const request = await charged()
    const answers = await Promise.all(Array.from({ length: 10 }, () => refund(request)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await balance()).toMatchObject({ posted: usd(2), credit: usd(2) })
    const call = await read<{ cost_micros_usd: number }>(owner.api(`/api/requests/${request}`))
    expect(call).toMatchObject({ cost_micros_usd: 5000, refunded_micros_usd: 5000 })
    const { transactions } = await read<{ transactions: unknown[] }>(owner.api('/api/transactions?limit=1'))
    expect(transactions).toMatchObject([{ kind: 'charge_refund', amount_micros_usd: 5000, request_id: request }])
    const { entries } = await read<{ entries: unknown[] }>(
      operator.api('/api/operator/audit?action=account.charge_refund'),
    )
    expect(entries).toMatchObject([{ after: { request, amount_micros_usd: 5000 } }])
  })

  test('is never more than was charged, in part is possible once, and needs a charge of this account', async () => {
    const request = await charged()
    const call = () => read<unknown>(owner.api(`/api/requests/${request}`))
    expect(await call()).toMatchObject({ refunded_micros_usd: 0 })
    expect(await refusalOf(refund(request, '0.005001'))).toMatchObject({ status: 409 })
    const { refund: done } = await read<OneRefund>(refund(request, '0.002'))
    expect(done).toMatchObject({ state: 'succeeded', amount_micros_usd: 2000 })
    expect(await refusalOf(refund(request, '0.001'))).toMatchObject({ status: 409 })
    expect(await call()).toMatchObject({ charge: { charged_micros_usd: 5000 }, refunded_micros_usd: 2000 })
    for (const nothing of [`req_${'0'.repeat(32)}`, 'req_'])
      expect(await refusalOf(refund(nothing))).toMatchObject({ status: 409 })
    const stranger = await gateway.owner()
    const strangers = (await read<AccountBody>(stranger.api('/api/account'))).id
    const elsewhere = operator.api(`/api/operator/accounts/${strangers}/refunds`, { payment: request, note: 'No' })
    expect(await refusalOf(elsewhere)).toMatchObject({ status: 409 })
    expect(await balance()).toMatchObject({ posted: usd(2) - 3000 })
  })

  test('is seen by its owner in the log, in its file and beside the spend of its time', async () => {
    const [request, kept] = [await charged(), await charged()]
    await read(refund(request, '0.002'))
    const { requests } = await read<RequestPage>(owner.api('/api/requests'))
    expect(requests.map((row) => [row.id, row.cost_micros_usd, row.refunded_micros_usd])).toEqual([
      [kept, 5000, 0],
      [request, 5000, 2000],
    ])
    const rows = (await (await owner.api('/api/usage.csv')).text()).trim().split('\r\n')
    expect(rows.map((row) => row.split(',').at(-1))).toEqual(['refunded_usd', '0', '0.002'])
    const usage = (query = '') => read<UsageReport>(owner.api(`/api/usage${query}`))
    expect(await usage()).toMatchObject({ totals: { charged_micros_usd: 10_000 }, refunded_micros_usd: 2000 })
    expect(await usage('?operation=image-search')).toMatchObject({ refunded_micros_usd: 2000 })
    for (const others of ['?operation=llm-context', '?status=402', '?key=key_of_nobody', '?end_time=1000'])
      expect(await usage(others)).toMatchObject({ refunded_micros_usd: 0 })
  })
})

describe('the refund of a card payment', () => {
  /** A booked card payment of 25 USD. */
  const paid = async () => {
    const { topup } = await read<{ topup: { id: string } }>(
      owner.api('/api/topups', { amount: '25.00', method: 'card' }),
      201,
    )
    const page = stripe.newestPage().id
    stripe.pay(page)
    await tell(page)
    return { id: topup.id, page }
  }
  const tell = async (page: string) => {
    const { body, headers } = stripe.message('checkout.session.completed', { id: page })
    expect((await gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status).toBe(200)
  }
  const refund = (payment: string, more: { usd?: string; reference?: string } = {}) =>
    operator.api(at('/refunds'), { payment, note: 'Asked by mail', ...more })
  const refunds = async () => (await read<RefundList>(operator.api(at('/refunds')))).refunds
  const sent = (page: string) => stripe.refunds().filter((one) => one.payment_intent === `pi_${page}`)
  const finish = () => gateway.gateway.cardRefunds?.finish()

  test('in part and then the rest goes through the processor; the balance follows; a third is refused', async () => {
    const { id: payment, page } = await paid()
    const { refund: part } = await read<OneRefund>(refund(payment, { usd: '10' }))
    expect(part).toMatchObject({ state: 'succeeded', amount_micros_usd: usd(10) })
    expect((await balance()).paid).toBe(usd(15) as never)
    const { refund: rest } = await read<OneRefund>(refund(payment))
    expect(rest).toMatchObject({ state: 'succeeded', amount_micros_usd: usd(15) })
    expect(await refusalOf(refund(payment, { usd: '0.01' }))).toMatchObject({ status: 400 })
    expect(sent(page).map(({ amount }) => amount)).toEqual([1000, 1500])
    await tell(page)
    expect(await balance()).toMatchObject({ paid: 0, debt: 0, posted: usd(2), toppedUp: 0 })
  })

  test('asked for ten times at once, with and without one reference, sends no cent twice', async () => {
    const { id: payment, page } = await paid()
    await Promise.all(Array.from({ length: 10 }, () => refund(payment, { reference: `r-${payment}` })))
    await Promise.all(Array.from({ length: 10 }, () => refund(payment, { usd: '20' })))
    expect(sent(page).map(({ amount }) => amount)).toEqual([2500])
    expect(await balance()).toMatchObject({ paid: 0, posted: usd(2) })
  })

  test('is refused when the money was spent or is held; then nothing is sent', async () => {
    const { id: payment, page } = await paid()
    await read(operator.api(at('/debits'), { usd: '26', note: 'Spent' }))
    expect(await refusalOf(refund(payment))).toMatchObject({ status: 409 })
    expect(sent(page)).toEqual([])
    expect(await refunds()).toMatchObject([{ state: 'refused' }])
    expect(await balance()).toMatchObject({ posted: usd(1), debt: 0 })
  })

  test('of unknown outcome keeps the money out of the balance, and is found at the processor, sent once', async () => {
    const { id: payment, page } = await paid()
    stripe.setRefunding('lost')
    const { refund: open } = await read<OneRefund>(refund(payment, { usd: '5', reference: `lost-${payment}` }))
    expect(open.state).toBe('sent')
    expect((await balance()).paid).toBe(usd(20) as never)
    stripe.setRefunding('succeeded')
    await finish()
    expect(await refunds()).toMatchObject([{ id: open.id, state: 'succeeded' }])
    const { refund: again } = await read<OneRefund>(refund(payment, { usd: '5', reference: `lost-${payment}` }))
    expect(again.id).toBe(open.id)
    expect(sent(page)).toHaveLength(1)
    expect((await balance()).paid).toBe(usd(20) as never)
  })

  test('continues where a crash interrupted it: before the booking, after it, and with the processor away', async () => {
    const { id: payment, page } = await paid()
    const row = (name: string, state: Refund['state']) => ({
      id: `rfd_${name}${payment.slice(4)}` as `rfd_${string}`,
      payment: payment as `pay_${string}`,
      accountId: id,
      amount: usd(5) as never,
      reason: 'x',
      reference: `${name}-${payment}`,
      state,
      processorId: null,
      lastError: null,
      createdAt: 1,
      updatedAt: 1,
    })
    const audit = {
      at: 1,
      actor: { kind: 'operator', id: 'x', address: null },
      accountId: id,
      action: 'account.card_refund',
    } as const
    const { auditEntry } = await import('../../../server/core/audit')
    const [asked, booked] = [row('a', 'asked'), row('b', 'asked')]
    for (const one of [asked, booked]) await gateway.core.stores.cardRefunds.open(one, auditEntry(audit))
    const move = { account: id, amount: booked.amount, kind: 'refund', description: '' } as const
    await gateway.core.ledger.takeBack({ ...move, reference: `refund:${booked.id}` })
    stripe.setDown(true)
    await finish()
    expect((await refunds()).map(({ state }) => state)).toEqual(['sent', 'sent'])
    stripe.setDown(false)
    await finish()
    await finish()
    expect((await refunds()).map(({ state }) => state)).toEqual(['succeeded', 'succeeded'])
    expect(sent(page).map(({ amount }) => amount)).toEqual([500, 500])
    expect(await balance()).toMatchObject({ paid: usd(15), debt: 0 })
  })

  test('that the bank returns later gives the balance its money back, once, by message or by comparison', async () => {
    const { id: payment, page } = await paid()
    stripe.setRefunding('pending')
    const { refund: pending } = await read<OneRefund>(refund(payment, { usd: '5' }))
    expect(pending.state).toBe('pending')
    await tell(page)
    expect((await balance()).paid).toBe(usd(20) as never)
    stripe.turn(pending.processor_id ?? '', 'failed')
    await Promise.all([tell(page), finish(), tell(page)].map((one) => one?.catch(() => undefined)))
    await finish()
    await tell(page)
    expect((await refunds())[0]).toMatchObject({ state: 'failed' })
    expect(await balance()).toMatchObject({ paid: usd(25), posted: usd(27), toppedUp: usd(25) })
  })

  test('waits until refunds and disputes that the processor has are booked: one of them may be this refund, from before a restore', async () => {
    const { id: payment, page } = await paid()
    stripe.giveBack('refund', page, 300)
    expect((await refusalOf(refund(payment, { usd: '3' }))).message).toContain('reconcile --apply')
    expect(sent(page)).toHaveLength(1)
    await read(operator.api('/api/operator/reconcile', { apply: true }))
    const { refund: rest } = await read<OneRefund>(refund(payment))
    expect(rest.amount_micros_usd).toBe(usd(22))
    expect(await balance()).toMatchObject({ paid: 0, debt: 0 })
  })

  test("of another's account, of no card, or by an unknown id is refused", async () => {
    const { id: payment } = await paid()
    const stranger = await gateway.owner()
    const strangers = (await read<AccountBody>(stranger.api('/api/account'))).id
    const elsewhere = operator.api(`/api/operator/accounts/${strangers}/refunds`, { payment, note: 'No' })
    expect(await refusalOf(elsewhere)).toMatchObject({ status: 404 })
    expect(await refusalOf(refund('pay_none'))).toMatchObject({ status: 404 })
  })
})

describe('a webhook of a payment page that the database does not know', () => {
  test('is kept and reported, listed by reconcile, and booked once with apply', async () => {
    const { topup } = await read<{ topup: { id: `pay_${string}` } }>(
      owner.api('/api/topups', { amount: '25.00', method: 'card' }),
      201,
    )
    const page = stripe.newestPage().id
    stripe.pay(page)
    // As after a restore from an older copy.
    await gateway.core.stores.db.run(`DELETE FROM payments WHERE id = '${topup.id}'`)
    const { body, headers } = stripe.message('checkout.session.completed', { id: page })
    for (let n = 0; n < 2; n++)
      expect((await gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status).toBe(200)
    expect(gateway.logged.filter((line) => line.includes(`${page} of top-up`))).toHaveLength(1)
    const reconcile = (apply: boolean) => read<Reconciled>(operator.api('/api/operator/reconcile', { apply }))
    const listed = await reconcile(false)
    expect(listed).toMatchObject({ ledger: [], booked: 0 })
    expect(listed.missing).toMatchObject([
      { page, payment: topup.id, account: id, state: 'paid', amount_micros_usd: usd(25), bookable: true },
    ])
    expect((await balance()).paid).toBe(0 as never)
    const applied = await Promise.all([reconcile(true), reconcile(true)])
    expect(applied.map(({ complete }) => complete)).toEqual([true, true])
    expect(await balance()).toMatchObject({ paid: usd(25), posted: usd(27) })
    expect(await reconcile(true)).toMatchObject({ ledger: [], missing: [], booked: 0 })
    expect(await balance()).toMatchObject({ paid: usd(25) })
  })
})

describe('reconcile', () => {
  const reconcile = (form: object) => read<Reconciled>(operator.api('/api/operator/reconcile', form))
  /** A payment page of 25 USD, paid, of which no message came. */
  const paidUnheard = async () => {
    const { topup } = await read<{ topup: { id: string } }>(
      owner.api('/api/topups', { amount: '25.00', method: 'card' }),
      201,
    )
    const page = stripe.newestPage().id
    stripe.pay(page)
    return { topup: topup.id, page }
  }
  const ofMine = ({ cards }: Reconciled) => cards?.differences.filter(({ account }) => account === id)

  test('names an account whose balance is not the sum of its entries', async () => {
    await gateway.core.stores.db.run(`UPDATE accounts SET paid = paid + 7 WHERE id = '${id}'`)
    const { ledger } = await reconcile({})
    await gateway.core.stores.db.run(`UPDATE accounts SET paid = paid - 7 WHERE id = '${id}'`)
    expect(ledger).toMatchObject([{ subject: id, one: 7, other: 0 }])
  })

  test('lists payments, refunds and disputes whose message never came, and books them once with apply', async () => {
    const [{ topup, page }, lost] = [await paidUnheard(), await paidUnheard()]
    await gateway.core.stores.db.run(`DELETE FROM payments WHERE id = '${lost.topup}'`)
    const listed = await reconcile({})
    const payment = { what: 'payment', id: page, payment: topup, at_processor_micros_usd: usd(25), here_micros_usd: 0 }
    expect(ofMine(listed)).toEqual([{ ...payment, account: id }] as never)
    expect(listed.missing).toMatchObject([{ page: lost.page, payment: lost.topup, account: id, bookable: true }])
    expect((await balance()).paid).toBe(0 as never)
    const booked = await Promise.all([reconcile({ apply: true }), reconcile({ apply: true })])
    expect(booked.map(({ complete }) => complete)).toEqual([true, true])
    expect(await balance()).toMatchObject({ paid: usd(50) })
    stripe.giveBack('refund', page, 300)
    stripe.giveBack('dispute', lost.page, 1000)
    expect(ofMine(await reconcile({}))).toMatchObject([
      { what: 'dispute', payment: lost.topup, at_processor_micros_usd: usd(10), here_micros_usd: 0 },
      { what: 'refund', payment: topup, at_processor_micros_usd: usd(3), here_micros_usd: 0 },
    ])
    expect(await reconcile({ apply: true })).toMatchObject({ corrected: 2 })
    expect(await reconcile({ apply: true })).toMatchObject({ corrected: 0, missing: [], cards: { differences: [] } })
    expect(await balance()).toMatchObject({ paid: usd(37) })
  })

  test('compares any period, and names a top-up that the processor does not know', async () => {
    const { page, topup } = await paidUnheard()
    const now = gateway.clock.now()
    const at = (ms: number) => new Date(ms).toISOString()
    const before = await reconcile({ from: at(now - 9 * 86_400_000), to: at(now - 86_400_000) })
    expect(before).toMatchObject({ cards: { compared: 0, differences: [] } })
    await reconcile({ apply: true, from: at(now - 86_400_000) })
    expect(await balance()).toMatchObject({ paid: usd(25) })
    stripe.forget(page)
    expect(ofMine(await reconcile({ apply: true }))).toMatchObject([{ what: 'unknown_there', payment: topup }])
    expect(await balance()).toMatchObject({ paid: usd(25) })
    stripe.remember(page)
    for (const wrong of [{ from: 'yesterday' }, { to: at(now) }, { from: at(now), to: at(now - 1) }])
      expect(await refusalOf(operator.api('/api/operator/reconcile', wrong))).toMatchObject({ status: 400 })
  })

  test('books nothing of what it could not read to the end, and remembers what each comparison found', async () => {
    const { page, topup } = await paidUnheard()
    stripe.setDown(true)
    expect(await reconcile({ apply: true })).toMatchObject({ complete: false, booked: 0, cards: { complete: false } })
    stripe.setDown(false)
    await gateway.core.stores.db.run(`DELETE FROM payments WHERE id = '${topup}'`)
    const run = await reconcile({})
    const {
      runs,
      last,
      unknown_pages: waiting,
    } = await read<Reconciliations>(operator.api('/api/operator/reconciliations'))
    expect(runs.slice(0, 2)).toMatchObject([
      { id: run.id, complete: true, applied: false, problems: 1 },
      { complete: false, applied: true },
    ])
    expect(last).toEqual(run)
    expect(waiting).toMatchObject([{ page, payment: topup, messages: 1 }])
    await reconcile({ apply: true })
    expect((await read<Reconciliations>(operator.api('/api/operator/reconciliations'))).unknown_pages).toEqual([])
    expect(await balance()).toMatchObject({ paid: usd(25) })
  })
})
