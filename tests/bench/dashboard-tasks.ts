/**
 * Does the ten tasks of an owner in a browser and prints their clicks, their fields and their seconds, as in docs/dashboard.md:
 * `bun run dashboard:tasks`. The seconds are those of the dashboard and this machine, without a person who reads or thinks.
 */
import type { Locator, Page } from 'playwright-core'
import type { WebhookList } from '../../server/http/webhooks/record'
import { oauthApp } from '../support/agents/oauth'
import { openDashboard } from '../support/dashboard/browser'
import { codeOfWebhook } from '../support/webhooks'

const SEARCH = '/apis/v1/websearch/images/search'

const dashboard = await openDashboard({ env: { SANDBOX_TOPUPS: 'true', WEBHOOKS_ALLOW_PRIVATE: 'true' } })

/** The actions of a person, counted. Menus, boxes and buttons are clicks; texts are fields. */
class Hands {
  clicks = 0
  fields = 0
  private readonly page: Page

  constructor(page: Page) {
    this.page = page
  }

  async click(...way: Locator[]): Promise<void> {
    for (const target of way) {
      this.clicks++
      await target.click()
    }
  }

  async fill(field: Locator, text: string): Promise<void> {
    this.fields++
    await field.fill(text)
  }

  /** A shortcut or Enter counts as a click. */
  async press(key: string): Promise<void> {
    this.clicks++
    await this.page.keyboard.press(key)
  }
}

type Task = (page: Page, hands: Hands) => Promise<void>

const button = (at: Page | Locator, name: string | RegExp) => at.getByRole('button', { name, exact: true }).first()
const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).first()
const dialog = (page: Page) => page.getByRole('dialog')

const owner = await dashboard.signedIn()
const { secret } = await (await owner.api('/api/keys', { name: 'web', spending_limit: 5 })).json()
await owner.api('/api/keys', { name: 'agent' })
await oauthApp(dashboard, owner).connect()
await dashboard.as(secret, `${SEARCH}?q=card`)
await dashboard.as(secret, SEARCH, { headers: { 'x-request-id': 'order-4711' } })

const TASKS: readonly (readonly [name: string, task: Task])[] = [
  [
    'Make a key with a limit and allowed IPs',
    async (page, hands) => {
      await hands.click(link(page, 'API keys'), button(page.getByRole('main'), 'Create key'))
      await hands.fill(dialog(page).getByLabel('Name'), 'batch')
      await hands.click(dialog(page).getByLabel('Stop at'))
      await hands.fill(dialog(page).getByLabel('Amount in USD'), '10')
      await hands.fill(dialog(page).getByLabel('Allowed IPs'), '10.0.0.0/8')
      await hands.click(button(dialog(page), 'Create key'))
      await hands.click(button(dialog(page), 'Copy key'), button(dialog(page), 'I have saved this key'))
      await page.getByRole('row').filter({ hasText: 'batch' }).waitFor()
    },
  ],
  [
    'Rotate a key',
    async (page, hands) => {
      await hands.click(link(page, 'API keys'), button(page, 'Actions for agent'))
      await hands.click(page.getByRole('menuitem', { name: 'Rotate key', exact: true }))
      await hands.click(button(dialog(page), 'Rotate key'))
      await hands.click(button(dialog(page), 'Copy key'), button(dialog(page), 'I have saved this key'))
      await page.getByText('replaces agent').waitFor()
    },
  ],
  [
    'Find why a call failed, by its id',
    async (page, hands) => {
      await hands.press('Control+k')
      await hands.fill(page.getByRole('combobox').last(), 'order-4711')
      await hands.click(page.getByRole('option', { name: 'Search requests for "order-4711"' }))
      await hands.click(button(page, /^Details of the request/), link(page, 'Explain this request'))
      await page.getByRole('region', { name: 'Why it failed' }).getByText('q is required', { exact: true }).waitFor()
    },
  ],
  [
    'See who spent what last week',
    async (page, hands) => {
      await hands.click(link(page, 'Usage'))
      await page.getByRole('table', { name: 'Usage by key' }).getByText('$0.005').first().waitFor()
    },
  ],
  [
    'Top up',
    async (page, hands) => {
      await hands.click(link(page, 'Top up'), button(page.getByRole('main'), 'Top up'))
      await hands.fill(dialog(page).getByLabel('Amount in USD'), '25')
      await hands.click(button(dialog(page), 'Top up'))
      await page.getByRole('table', { name: 'Top-ups' }).getByText('$25.00').waitFor()
    },
  ],
  [
    'Ask for higher limits',
    async (page, hands) => {
      await hands.click(link(page, 'Limits'))
      await hands.fill(page.getByLabel('Peak requests per minute'), '2000')
      await hands.fill(page.getByLabel('Peak tokens per minute'), '2000000')
      await hands.click(page.getByRole('checkbox', { name: 'Image search' }))
      await hands.fill(page.getByLabel('Use case'), 'A catalog of a million products with pictures.')
      await hands.click(button(page, 'Request an increase'))
      await page.getByText('Pending', { exact: true }).waitFor()
    },
  ],
  [
    'Link a social account',
    async (page, hands) => {
      await hands.click(link(page, 'Social accounts'), button(page, 'Link account: web'), button(page, 'Create link'))
      const [tab] = await Promise.all([
        page.context().waitForEvent('page'),
        hands.click(page.getByRole('link', { name: 'Open social network' })),
      ])
      await hands.click(tab.getByLabel(/Grace Hopper/), button(tab, 'Allow access'), button(tab, 'Link @grace'))
      await tab.getByRole('heading', { name: '@grace is linked' }).waitFor()
      await tab.close()
      await hands.click(button(page, 'Done'))
      await page.getByRole('row').filter({ hasText: 'web' }).getByText('@grace').first().waitFor()
    },
  ],
  [
    "Cut an app's budget",
    async (page, hands) => {
      await hands.click(link(page, 'Connected apps'), button(page, /^Edit limit/))
      await hands.fill(dialog(page).getByLabel('Spending limit (USD)'), '1')
      await hands.click(button(dialog(page), 'Save'))
      await page.getByText('Limit saved.').waitFor()
    },
  ],
  [
    'Set an alert',
    async (page, hands) => {
      await hands.click(link(page, 'Webhooks'), button(page, 'Add endpoint'))
      await hands.fill(dialog(page).getByLabel('URL'), 'http://127.0.0.1:9/alerts')
      await hands.click(dialog(page).getByRole('checkbox', { name: 'balance.low' }))
      await hands.click(button(dialog(page), 'Add endpoint'), button(dialog(page), 'Done'))
      await page.getByRole('cell', { name: 'http://127.0.0.1:9/alerts' }).waitFor()
      const { webhooks } = (await (await owner.api('/api/webhooks')).json()) as WebhookList
      await hands.click(button(page, 'Enter code: http://127.0.0.1:9/alerts'))
      await hands.fill(dialog(page).getByLabel('Code'), await codeOfWebhook(dashboard, webhooks[0]?.id ?? ''))
      await hands.click(button(dialog(page), 'Confirm'))
      await page.getByText('Active', { exact: true }).waitFor()
    },
  ],
]

console.log('| task | clicks | fields | seconds |\n|---|---|---|---|')
for (const [name, task] of TASKS) {
  const { page } = await dashboard.load('/')
  await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
  await measured(name, page, task)
  await page.close()
}
await firstCall()
await dashboard.close()
process.exit(0)

/** From nothing: an account, a key that is shown at once, and a call with it. */
async function firstCall(): Promise<void> {
  await dashboard.browser.clearCookies()
  const { page } = await dashboard.visit('/sign-up')
  await page.getByLabel('Email').waitFor()
  await measured('Make the first paid call, from the sign-up page', page, async (_page, hands) => {
    await hands.fill(page.getByLabel('Email'), 'grace@example.com')
    await hands.fill(page.getByLabel('Password', { exact: true }), 'correct horse battery')
    await hands.click(button(page, 'Create account'))
    const shown = await page.getByRole('textbox', { name: 'API key' }).inputValue()
    await hands.click(button(page, 'Copy key'))
    await dashboard.as(shown, `${SEARCH}?q=card`)
    await page.getByText(/^First request received/).waitFor()
  })
  await page.close()
}

async function measured(name: string, page: Page, task: Task): Promise<void> {
  const hands = new Hands(page)
  const begun = performance.now()
  const failure = await task(page, hands).then(
    () => null,
    (error: unknown) => String(error).split('\n')[0],
  )
  const seconds = ((performance.now() - begun) / 1000).toFixed(1)
  console.log(
    failure === null ? `| ${name} | ${hands.clicks} | ${hands.fields} | ${seconds} |` : `| ${name}: ${failure} |`,
  )
}
