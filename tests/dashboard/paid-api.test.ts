import { afterAll, beforeAll, expect, test } from 'bun:test'
import { makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import { becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'
import { CHAIN_ID, openNode, PAYEE, TOKEN, WALLET, walletEnv } from '../support/payments/paid-upstream'

let dashboard: Dashboard
const node = openNode()
beforeAll(async () => {
  dashboard = await openDashboard({ env: walletEnv(node.url) })
})
afterAll(async () => {
  await dashboard.close()
  await node.close()
})

/** Two payments as calls would leave them: one whose answer was sold, and one without. */
async function pay(): Promise<void> {
  const { stores, paying } = dashboard.gateway.core
  if (!paying) throw new Error('there is no wallet')
  for (const state of ['answered', 'signed']) {
    const now = Date.now()
    const request = makeId('req', now)
    const opened = await stores.upstreamPayments.open(
      {
        request,
        account: null,
        operation: 'paid.one',
        api: 'paid',
        chainId: CHAIN_ID,
        token: TOKEN,
        payer: WALLET,
        payee: PAYEE,
        amount: 20_000n,
        cost: micros(20_000),
        fee: micros(0),
        nonce: request,
        validBefore: now,
        signedAt: now,
      },
      paying.wallet.maxima,
      0,
    )
    expect(opened).toBe('opened')
    if (state === 'answered') await stores.upstreamPayments.answered(request, now, null)
  }
}

test('an operator says whom an upstream is paid, and sees what the wallet paid it', async () => {
  const operator = await dashboard.signedIn()
  const price = { mode: 'reported', unit: 'paid', multiplier: '1.2', maximum_usd: '0.05' }
  const form = {
    name: 'paid',
    title: 'Paid weather',
    base_url: 'https://paid.example',
    auth: `402:${TOKEN}`,
    operations: [{ id: 'one', method: 'GET', path: '/one', price }],
  }
  expect((await operator.api('/api/operator/apis', form)).status).toBe(201)
  await pay()
  const watched = await dashboard.visit('/operator/apis/paid')
  const { page } = watched
  await heading(page, 'Paid weather')
  const table = page.getByRole('table', { name: 'Payments to the upstream in the last 30 days' })
  await table.getByText('May still be cashed').waitFor()
  expect(await table.getByRole('row').allInnerTexts()).toHaveLength(3)
  await page.getByText('The wallet has signed $0.04 of $1.00 a day, for all APIs.').waitFor()

  await page.getByRole('button', { name: 'Edit settings' }).click()
  const editing = page.getByRole('dialog', { name: 'Edit settings' })
  await editing.getByLabel('Authentication to the upstream').selectOption('402')
  await editing.getByLabel('Addresses that may be paid').fill('everybody')
  await editing.getByRole('button', { name: 'Edit settings' }).click()
  await editing.getByText('Enter addresses such as 0x1111').waitFor()
  await editing.getByLabel('Addresses that may be paid').fill(`${PAYEE}, ${WALLET}`)
  await fits(page, 'paid-api-settings')
  await editing.getByRole('button', { name: 'Edit settings' }).click()
  await editing.waitFor({ state: 'detached' })
  const auth = async () => (await (await operator.api('/api/operator/apis/paid')).json()).api.auth
  await becomes(auth, `402:${PAYEE},${WALLET}`)
  await fits(page, 'paid-api')
  await left(watched)
})
