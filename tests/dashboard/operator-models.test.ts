import { afterAll, beforeAll, expect, test } from 'bun:test'
import type { ChatCompletion } from 'openai/resources'
import { becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, heading, left } from '../support/dashboard/page-checks'
import { openAi, openVendor, type VendorDouble } from '../support/vendor-double'

const KEY = 'sk-proj-the-operators-own-key'

let dashboard: Dashboard
let vendor: VendorDouble
let isDown = false
let account = ''
beforeAll(async () => {
  vendor = openVendor(({ path, headers }) => {
    if (headers.get('authorization') !== `Bearer ${KEY}`)
      return Response.json({ error: { message: 'Incorrect API key provided: sk-typo*****key.' } }, { status: 401 })
    if (isDown) return Response.json({ error: { message: 'The engine is overloaded' } }, { status: 503 })
    return path === '/v1/models'
      ? Response.json({ object: 'list', data: ['gpt-5.4', 'gpt-5.4-mini'].map((id) => ({ id, object: 'model' })) })
      : openAi.plain('Hello from the vendor', { input: 20, output: 40 })
  })
  dashboard = await openDashboard({ env: { ALLOW_PRIVATE_UPSTREAMS: '127.0.0.1', CREDIT_BUYS_PAID_PROVIDERS: 'true' } })
})
afterAll(async () => {
  await dashboard.close()
  vendor.close()
})

test('an operator goes from a key at a vendor to a sold model: a wrong key says why, and the key is never shown again', async () => {
  const operator = await dashboard.signedIn()
  account = ((await (await operator.api('/api/account')).json()) as { id: string }).id
  const watched = await dashboard.visit('/operator/models')
  const { page } = watched
  await heading(page, 'Models')
  await page.getByText('No vendors yet.').waitFor()
  await page.getByRole('button', { name: 'Add vendor' }).click()
  const adding = page.getByRole('dialog', { name: 'Add vendor' })
  expect(await adding.getByLabel('Base URL').inputValue()).toBe('https://api.openai.com/v1')
  await adding.getByLabel('Vendor').selectOption('azure')
  await adding.getByRole('button', { name: 'Add vendor' }).click()
  await adding.getByText('Enter a URL such as').waitFor()
  await adding.getByLabel('Name').fill('acme')
  await adding.getByLabel('Base URL').fill(`${vendor.origin}/v1`)
  await adding.getByLabel('API key').fill('sk-typo-in-the-key')
  await fits(page, 'operator-models-vendor')
  await adding.getByRole('button', { name: 'Add vendor' }).click()

  const selling = page.getByRole('dialog', { name: 'Sell a model of acme' })
  await selling.getByText('The vendor answered with status 401: Incorrect API key provided: [key].').waitFor()
  await selling.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('button', { name: 'Actions for acme' }).click()
  await page.getByRole('menuitem', { name: 'Set key' }).click()
  const setting = page.getByRole('dialog', { name: 'Set key' })
  await setting.getByLabel('API key').fill(KEY)
  await setting.getByRole('button', { name: 'Set key' }).click()
  await setting.waitFor({ state: 'detached' })

  await page.getByRole('button', { name: 'Sell model: acme' }).click()
  await selling.getByText('The key works. The vendor has 2 models.').waitFor()
  await selling.getByLabel('Model').selectOption('gpt-5.4-mini')
  await selling.getByRole('button', { name: 'Sell a model of acme' }).click()
  await selling.getByText('Enter an amount such as 2.5.').first().waitFor()
  await selling.getByLabel('Sold as').fill('fast')
  await selling.getByLabel('Input').fill('10')
  await selling.getByLabel('Output').fill('20')
  await selling.getByLabel('Only for accounts that have topped up').uncheck()
  await fits(page, 'operator-models-sell')
  await selling.getByRole('button', { name: 'Sell a model of acme' }).click()
  await selling.waitFor({ state: 'detached' })

  const { secret } = (await (await operator.api('/api/keys', { name: 'first' })).json()) as { secret: string }
  const ask = () =>
    fetch(`${dashboard.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${secret}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', max_tokens: 500, messages: [{ role: 'user', content: 'Hello' }] }),
    })
  const answer = await ask()
  expect(((await answer.json()) as ChatCompletion).choices[0]?.message.content).toBe('Hello from the vendor')
  expect(answer.headers.get('x-cost-micros-usd')).toBe('1000')
  isDown = true
  expect((await ask()).status).toBe(503)
  isDown = false
  await page.getByText('Last refused with 503: The engine is overloaded').waitFor()
  expect(await page.content()).not.toContain(KEY)
  await left(watched)
})

test('the model shows its health and earnings, is repriced and removed, and then its vendor', async () => {
  const watched = await dashboard.visit('/operator/models')
  const { page } = watched
  const row = page.getByRole('row', { name: /fast/ })
  await row.getByText('$10 in, $20 out').waitFor()
  await row.getByText('Healthy').waitFor()
  await row.getByText('$0.001', { exact: true }).waitFor()
  await fits(page, 'operator-models')
  await page.getByRole('button', { name: 'Actions for fast' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  const editing = page.getByRole('dialog', { name: 'Edit fast' })
  await editing.getByLabel('Input (USD)').fill('12.5')
  await editing.getByRole('button', { name: 'Edit fast' }).click()
  await editing.waitFor({ state: 'detached' })
  await row.getByText('$12.5 in, $20 out').waitFor()

  await page.getByRole('button', { name: 'Actions for fast' }).click()
  await page.getByRole('menuitem', { name: 'Edit' }).click()
  await editing.getByLabel('Some accounts only').check()
  await editing.getByLabel('Growth').check()
  await fits(page, 'operator-models-access')
  await editing.getByRole('button', { name: 'Edit fast' }).click()
  await editing.waitFor({ state: 'detached' })
  await row.getByText('For growth').waitFor()

  await page.getByRole('button', { name: 'Set price for account' }).click()
  const pricing = page.getByRole('dialog', { name: 'Set price for account' })
  await pricing.getByLabel('Percent of the list price').fill('1001')
  await pricing.getByRole('button', { name: 'Set price for account' }).click()
  await pricing.getByText('Enter an account.').waitFor()
  await pricing.getByLabel('Account').fill(account)
  await pricing.getByLabel('Percent of the list price').fill('80')
  await pricing.getByLabel('Model').selectOption('fast')
  await fits(page, 'operator-models-price')
  await pricing.getByRole('button', { name: 'Set price for account' }).click()
  await pricing.waitFor({ state: 'detached' })
  const price = page.getByRole('row', { name: /acct_.* fast 80%/ })
  await price.getByRole('button', { name: /^Reset/ }).click()
  await page.getByText('All accounts pay the list prices.').waitFor()
  for (const [name, done] of [
    ['fast', 'fast was removed.'],
    ['acme', 'acme was removed.'],
  ] as const) {
    await page.getByRole('button', { name: `Actions for ${name}` }).click()
    await page.getByRole('menuitem', { name: 'Remove' }).click()
    await page.getByRole('alertdialog').or(page.getByRole('dialog')).getByRole('button', { name: 'Remove' }).click()
    await page.getByText(done).waitFor()
  }
  await becomes(() => page.getByRole('row', { name: /fast/ }).count(), 0)
  await page.getByText('No vendors yet.').waitFor()
  await left(watched)
})
