import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { becomes, type Dashboard, openDashboard, screenshot } from '../support/dashboard/browser'

const SEARCH = '/apis/v1/websearch/images/search?q=card'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })
const focused = (page: Page) => page.evaluate(() => document.activeElement?.textContent)

async function openForm(page: Page) {
  await page.getByRole('main').getByRole('button', { name: 'Create key' }).first().click()
  return page.getByRole('dialog', { name: 'Create key' })
}

test('the rail of an operator has at most nine entries, of the account or of the gateway, and tabs for the rest', async () => {
  // The first account is the operator.
  await dashboard.signedIn()
  const { page, complaints } = await dashboard.visit('/')
  const rail = page.getByRole('navigation', { name: 'Pages', exact: true })
  const labels = async () => (await rail.getByRole('link').allTextContents()).map((text) => text.trim())
  await page.getByRole('link', { name: 'Operator', exact: true }).waitFor()
  expect((await labels()).slice(0, -2)).toHaveLength(9)
  await screenshot(page, 'rail-account')
  await page.getByRole('link', { name: 'Operator', exact: true }).click()
  await becomes(labels, ['Health and accounts', 'APIs', 'Models', 'Money', 'Gateway audit log', 'API docs', 'Guide'])
  await screenshot(page, 'rail-operator')
  await page.getByRole('link', { name: 'My account' }).click()
  await rail.getByRole('link', { name: 'Integrations' }).click()
  const tabs = page.getByRole('navigation', { name: 'Pages of this section' })
  await tabs.getByRole('link', { name: 'Webhooks' }).click()
  await page.getByRole('heading', { name: 'Webhooks', level: 1 }).waitFor()
  expect(await rail.getByRole('link', { name: 'Integrations' }).getAttribute('aria-current')).toBe('page')
  await screenshot(page, 'rail-tabs')
  await page.close()
  expect(complaints()).toEqual([])
})

describe('a key whose budget is used up', () => {
  test('says so in the list, on the overview and in its notice, which leads to it', async () => {
    const owner = await dashboard.signedIn()
    const made = await owner.api('/api/keys', {
      name: 'nightly crawl',
      budget: { limit_usd: 0.01, period: 'day', timezone: 'UTC' },
    })
    const { secret, key } = await made.json()
    for (const status of [200, 200, 429]) expect((await dashboard.as(secret, SEARCH)).status).toBe(status)
    const { page, complaints } = await dashboard.visit('/keys')
    await row(page, 'nightly crawl').getByText('Budget used up').waitFor()
    await row(page, 'nightly crawl').getByText('$0.01 of $0.01 today').waitFor()
    await screenshot(page, 'key-budget-used')
    await page.goto(`${dashboard.origin}/`)
    await page.getByText(/^"nightly crawl" has used up its budget, which resets in /).waitFor()
    expect(await page.getByText('Nothing needs attention.').count()).toBe(0)
    // Sent a moment after the charge.
    await becomes(async () => (await (await owner.api('/api/notices')).json()).notices[0]?.data.percent, 100)
    await page.goto(`${dashboard.origin}/notices`)
    const notice = row(page, 'used 100 % of its daily budget of $0.01')
    await screenshot(page, 'notices-budget')
    await notice.getByRole('link', { name: 'nightly crawl' }).click()
    await page.waitForURL(`**/keys/${key.id}`)
    await page.close()
    expect(complaints()).toEqual([])
  })
})

test('a key takes one line of 48 px, whatever it is named and limited by', async () => {
  const owner = await dashboard.signedIn()
  const limits = {
    spending_limit: 5,
    budget: { limit_usd: 1, period: 'month', timezone: 'UTC' },
    allowed_ips: ['10.0.0.0/8'],
  }
  await owner.api('/api/keys', { name: 'n'.repeat(64), tags: ['production', 'search', 'nightly'], ...limits })
  await owner.api('/api/keys', { name: 'plain' })
  const { page, complaints } = await dashboard.visit('/keys')
  await row(page, 'plain').waitFor()
  const heights = await page
    .locator('tbody tr')
    .evaluateAll((rows) => rows.map((one) => one.getBoundingClientRect().height))
  expect(heights.map((height) => height <= 49)).toEqual([true, true])
  await row(page, 'nnn').getByText('Only from 10.0.0.0/8').waitFor({ state: 'attached' })
  await screenshot(page, 'keys-rows')
  await page.close()
  expect(complaints()).toEqual([])
})

describe('what is typed or shown once', () => {
  test('is not lost by Escape or a click beside the form, which ask first', async () => {
    await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/keys')
    const form = await openForm(page)
    await form.getByLabel('Name').fill('typed')
    const question = page.getByRole('alertdialog', { name: 'Discard your changes?' })
    await page.keyboard.press('Escape')
    await question.waitFor()
    await screenshot(page, 'form-discard')
    await page.keyboard.press('Escape')
    await question.waitFor({ state: 'detached' })
    expect(await form.getByLabel('Name').inputValue()).toBe('typed')
    await page.mouse.click(5, 5)
    await question.getByRole('button', { name: 'Discard' }).click()
    await form.waitFor({ state: 'detached' })
    await becomes(() => focused(page), 'Create key')
    const empty = await openForm(page)
    await page.keyboard.press('Escape')
    await empty.waitFor({ state: 'detached' })
    await becomes(() => focused(page), 'Create key')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('as a secret stays over Back, and a reload asks', async () => {
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/')
    await page.getByRole('link', { name: 'API keys' }).click()
    const form = await openForm(page)
    await form.getByLabel('Name').fill('kept')
    await form.getByRole('button', { name: 'Create key' }).click()
    const saved = page.getByRole('dialog', { name: 'Save your key now' })
    const field = saved.getByRole('textbox', { name: 'API key' })
    const secret = await field.inputValue()
    await page.evaluate(() => history.back())
    const asked = page.waitForEvent('dialog')
    await page.evaluate(() => setTimeout(() => location.reload()))
    const question = await asked
    expect(question.type()).toBe('beforeunload')
    await question.dismiss()
    expect([await field.inputValue(), new URL(page.url()).pathname]).toEqual([secret, '/keys'])
    await saved.getByRole('button', { name: 'I have saved this key' }).click()
    await row(page, 'kept').getByText('Active').waitFor()
    await page.close()
  })
})

test('without a network, and with a server that is silent, no page says that it is live', async () => {
  await dashboard.signedIn()
  const { page } = await dashboard.visit('/favicon.svg')
  const stale = page.getByText(/^As of \d\d:\d\d$/)
  await page.goto(`${dashboard.origin}/keys`)
  await page.getByText('Live', { exact: true }).waitFor()
  await page.context().setOffline(true)
  await stale.waitFor()
  await page.context().setOffline(false)
  await page.getByText('Live', { exact: true }).waitFor()
  // The next ping comes after 15 s, and is waited for less long here.
  await page.addInitScript(() => {
    const { setTimeout: later } = window
    const sooner = (act: () => void, ms?: number) => later(act, ms === 35_000 ? 500 : ms)
    Object.assign(window, { setTimeout: sooner })
  })
  await page.reload()
  await stale.waitFor()
  await page.close()
})

test('the overview of a new account leads to its first request; later it shows failures, and no empty card', async () => {
  const owner = await dashboard.signedIn()
  const { page, complaints } = await dashboard.visit('/')
  await page.getByRole('heading', { name: 'Make a request' }).waitFor()
  for (const empty of ['No requests yet', 'No spend', 'Nothing needs'])
    expect(await page.getByText(empty).count()).toBe(0)
  await screenshot(page, 'overview-new')
  const { secret } = await (await owner.api('/api/keys', { name: 'first' })).json()
  await dashboard.as(secret, SEARCH)
  await dashboard.as(secret, '/apis/v1/websearch/images/search')
  await page.getByRole('heading', { name: 'Spend, last 7 days, by key' }).waitFor()
  const failures = page.getByRole('region', { name: 'Failures, last 24 hours' })
  await failures.getByText('missing_parameter').or(failures.getByText('invalid_parameter')).first().waitFor()
  expect(await page.getByRole('heading', { name: 'Make a request' }).count()).toBe(0)
  await screenshot(page, 'overview-used')
  await page.close()
  expect(complaints()).toEqual([])
})

test('an alert at an amount takes three clicks from any page, and is removed by one', async () => {
  const owner = await dashboard.signedIn()
  const { page, complaints } = await dashboard.visit('/limits')
  await page.getByRole('link', { name: /^Notices/ }).click()
  const card = page.getByRole('region', { name: 'Alerts' })
  await card.getByLabel('US dollars').fill('0')
  await card.getByRole('button', { name: 'Add alert' }).click()
  await card.getByText('Enter an amount above 0').waitFor()
  await card.getByLabel('US dollars').fill('20')
  await card.getByRole('button', { name: 'Add alert' }).click()
  const words = 'A day of all keys and apps costs at least $20.00'
  await card.getByText(words).waitFor()
  await screenshot(page, 'alerts')
  expect((await (await owner.api('/api/settings')).json()).alerts).toEqual([{ on: 'spend_day', usd: 20, key: null }])
  await card.getByRole('button', { name: `Remove alert: ${words}` }).click()
  await card.getByText('No alerts yet.').waitFor()
  await page.close()
  expect(complaints()).toEqual([])
})

describe('usage', () => {
  test('by tag, of keys without one, is drawn; a long name widens no filter; a named period is whole', async () => {
    const owner = await dashboard.signedIn()
    const { secret } = await (await owner.api('/api/keys', { name: 'n'.repeat(64) })).json()
    expect((await dashboard.as(secret, SEARCH)).status).toBe(200)
    const { page, complaints } = await dashboard.visit('/usage?group=tag')
    // The one series of the chart, as its table for screen readers has it.
    await page.locator('th', { hasText: 'No tag' }).first().waitFor({ state: 'attached' })
    const filter = await page.getByLabel('Key or app').boundingBox()
    expect(filter?.width).toBeWithin(1, 225)
    await screenshot(page, 'usage-by-tag')
    await page.getByLabel('Period').selectOption('This month')
    await page.waitForURL('**range=month**')
    await page.getByRole('table', { name: 'Usage by tag' }).getByText('$0.005').first().waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })
})
