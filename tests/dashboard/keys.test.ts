import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { becomes, type Dashboard, openDashboard, screenshot } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

const SEARCH = '/apis/v1/websearch/images/search?q=card'

type Owner = Awaited<ReturnType<Dashboard['owner']>>

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

async function makeKey(owner: Owner, body: Record<string, unknown>): Promise<{ id: string; secret: string }> {
  const made = await (await owner.api('/api/keys', body)).json()
  return { id: made.key.id, secret: made.secret }
}
const call = async (secret: string) => (await dashboard.as(secret, SEARCH)).status
const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

async function choose(page: Page, name: string, act: string) {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: act, exact: true }).click()
}

async function menuOf(page: Page, name: string): Promise<string[]> {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menu').waitFor()
  const entries = await page.getByRole('menuitem').allTextContents()
  await page.keyboard.press('Escape')
  await page.getByRole('menu').waitFor({ state: 'detached' })
  return entries
}

describe('the list of keys', () => {
  test('is empty at first; a new key is shown once and listed', async () => {
    await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/keys')
    await page.getByText('No keys yet.').waitFor()
    await screenshot(page, 'keys-empty')
    await page.getByRole('main').getByRole('button', { name: 'Create key' }).first().click()
    const form = page.getByRole('dialog', { name: 'Create key' })
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('Enter a name.').waitFor()
    await form.getByLabel('Name').fill('laptop')
    await form.getByLabel('Stop at').check()
    await form.getByLabel('Amount in USD').fill('0.01')
    await form.getByLabel('Allowed IPs').fill('10.0.0.5/8')
    await form.getByRole('button', { name: 'Create key' }).click()
    await form.getByText('"10.0.0.5/8" has host bits set; the network is 10.0.0.0/8.').waitFor()
    await becomes(() => page.evaluate(() => document.activeElement?.getAttribute('name')), 'ips')
    await form.getByLabel('Allowed IPs').fill('10.0.0.0/8')
    await form.getByText('Requests from this computer will be refused.').waitFor()
    await form.getByRole('button', { name: 'Add my IP (127.0.0.1)' }).click()
    expect(await form.getByLabel('Allowed IPs').inputValue()).toBe('10.0.0.0/8\n127.0.0.1')
    await screenshot(page, 'key-form')
    await form.getByRole('button', { name: 'Create key' }).click()
    const saved = page.getByRole('dialog', { name: 'Save your key now' })
    const secret = await saved.getByRole('textbox', { name: 'API key' }).inputValue()
    await page.keyboard.press('Escape')
    await page.mouse.click(5, 5)
    expect(await saved.getByRole('textbox', { name: 'API key' }).inputValue()).toBe(secret)
    await saved.getByRole('button', { name: 'Run it here' }).click()
    await saved.getByText(/^First request received · 200/).waitFor()
    await screenshot(page, 'key-saved')
    await saved.getByRole('button', { name: 'I have saved this key' }).click()
    await row(page, 'laptop').getByText('$0.005 of $0.01').waitFor()
    expect(await page.content()).not.toContain(secret)
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('shows all six states, each with its label and buttons, and passes axe in every theme and width', async () => {
    const owner = await dashboard.signedIn()
    await makeKey(owner, { name: 'in use', spending_limit: 5 })
    const spent = await makeKey(owner, { name: 'spent', spending_limit: 0.005 })
    expect(await call(spent.secret)).toBe(200)
    const off = await makeKey(owner, { name: 'off' })
    await owner.api(`/api/keys/${off.id}/disable`, undefined, 'POST')
    await makeKey(owner, { name: 'old', expires_at: new Date(dashboard.clock.now() + 1_000).toISOString() })
    dashboard.clock.advance(2_000)
    const first = await makeKey(owner, { name: 'rotated' })
    await owner.api(`/api/keys/${first.id}/rotate`, { grace_period_seconds: 80_000 })
    const gone = await makeKey(owner, { name: 'gone' })
    await owner.api(`/api/keys/${gone.id}/revoke`, undefined, 'POST')
    const { page, complaints } = await dashboard.visit('/keys')
    await row(page, 'in use').getByText('Active').waitFor()
    await row(page, 'spent').getByText('Limit reached').waitFor()
    await row(page, 'off').getByText('Disabled').waitFor()
    await row(page, 'old').getByText('Expired').waitFor()
    await page.getByText('Stops in 22 h').waitFor()
    await row(page, 'off').getByText('Switched off').waitFor()
    await page.getByText('Counted with the new key').waitFor()
    expect(await row(page, 'gone').count()).toBe(0)
    expect(await menuOf(page, 'in use')).toEqual(['Edit key', 'Rotate key', 'Disable key', 'View usage', 'Revoke key'])
    expect(await menuOf(page, 'spent')).toContain('Raise limit')
    expect(await menuOf(page, 'off')).toEqual(['Enable key', 'Edit key', 'View usage', 'Revoke key'])
    expect(await menuOf(page, 'old')).toEqual(['Rotate key', 'Extend key', 'View usage', 'Revoke key'])
    const replaced = page.getByRole('row').filter({ hasText: 'Replaced' })
    await replaced.getByRole('button', { name: 'Actions for rotated' }).click()
    await page.getByRole('menu').waitFor()
    expect(await page.getByRole('menuitem').allTextContents()).toEqual([
      'Stop old key now',
      'Keep old key longer',
      'Disable key',
      'View usage',
    ])
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: /^Revoked/ }).click()
    await row(page, 'gone').waitFor()
    await page.getByRole('button', { name: /^All/ }).click()
    await page.getByText('Limit reached').first().waitFor()
    await fits(page, 'keys')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('has its search, filters and sorting in the address, so that a link shows the same; a name may look like a date, and only one key has it', async () => {
    const owner = await dashboard.signedIn()
    for (const name of ['2026-11-21', 'beta', 'gamma']) await makeKey(owner, { name })
    const { page } = await dashboard.visit('/keys')
    await page.getByRole('columnheader', { name: 'Name' }).getByRole('button').click()
    await page.waitForURL('**sort=name**')
    await becomes(
      () => page.getByRole('rowheader').getByRole('link').allTextContents(),
      ['2026-11-21', 'beta', 'gamma'],
    )
    await page.getByLabel('Search by name or last 4').fill('bet')
    await page.waitForURL('**q=bet**')
    await row(page, '2026-11-21').waitFor({ state: 'detached' })
    await page.reload()
    await row(page, 'beta').waitFor()
    expect(await row(page, '2026-11-21').count()).toBe(0)
    await page.getByLabel('Search by name or last 4').fill('nothing of that name')
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await row(page, 'gamma').waitFor()
    await page.getByRole('button', { name: 'Create key' }).click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Name').fill('2026-11-21')
    await form.getByRole('button', { name: 'Create key' }).click()
    await page.getByText('The name is already used by another of your keys.').waitFor()
    expect(await form.getByLabel('Name').inputValue()).toBe('2026-11-21')
    await page.close()
  })
})

describe('actions on a key', () => {
  test('disabling shows and applies at once, and is undone from the toast; revoking one in use requires its name, and its usage stays', async () => {
    const owner = await dashboard.signedIn()
    const switched = await makeKey(owner, { name: 'switched' })
    const doomed = await makeKey(owner, { name: 'doomed' })
    expect(await call(doomed.secret)).toBe(200)
    const { page, complaints } = await dashboard.visit('/keys')
    await choose(page, 'switched', 'Disable key')
    await page.getByText('Key disabled.').waitFor()
    expect(await call(switched.secret)).toBe(401)
    await page.getByRole('button', { name: 'Undo' }).click()
    await row(page, 'switched').getByText('Active').waitFor()
    await page.getByText('Key enabled.').waitFor()
    expect(await call(switched.secret)).toBe(200)

    await choose(page, 'doomed', 'Revoke key')
    const dialog = page.getByRole('alertdialog', { name: 'Revoke key "doomed"?' })
    await dialog.getByRole('button', { name: 'Revoke key' }).click({ force: true })
    expect(await call(doomed.secret)).toBe(200)
    await screenshot(page, 'key-revoke')
    await dialog.getByLabel('Key name').fill('doomed')
    await dialog.getByRole('button', { name: 'Revoke key' }).click()
    await row(page, 'doomed').waitFor({ state: 'detached' })
    expect(await call(doomed.secret)).toBe(401)
    const { requests } = await (await owner.api(`/api/requests?key=${doomed.id}`)).json()
    expect(requests.length).toBeGreaterThan(0)
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('rotation: both keys work until the old one is stopped, and they share one limit', async () => {
    const owner = await dashboard.signedIn()
    const old = await makeKey(owner, { name: 'api', spending_limit: 0.02 })
    expect(await call(old.secret)).toBe(200)
    const { page, complaints } = await dashboard.visit('/keys')
    await choose(page, 'api', 'Rotate key')
    await page.getByLabel('Now (it was leaked)').check()
    await page.getByText('This key was used within the last hour.').waitFor()
    await page.getByLabel('In 24 hours').check()
    await screenshot(page, 'key-rotate')
    await page.getByRole('button', { name: 'Rotate key' }).click()
    const saved = page.getByRole('dialog', { name: 'Save your key now' })
    const secret = await saved.getByRole('textbox', { name: 'API key' }).inputValue()
    await saved.getByRole('button', { name: 'I have saved this key' }).click()
    await page.getByText('replaces api').waitFor()
    expect([await call(old.secret), await call(secret)]).toEqual([200, 200])
    const replaced = page.getByRole('row').filter({ hasText: 'Replaced' })
    await replaced.getByRole('button', { name: 'Actions for api' }).click()
    await page.getByRole('menuitem', { name: 'Stop old key now' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop old key now' }).click()
    await page.getByText('Old key stopped.').waitFor()
    expect([await call(old.secret), await call(secret), await call(secret)]).toEqual([401, 200, 402])
    await page.close()
    expect(complaints()).toEqual([])
  })
})

describe('the page of a key', () => {
  test('shows its spending, settings and history; one of another account is not found', async () => {
    const owner = await dashboard.signedIn()
    const { id, secret } = await makeKey(owner, { name: 'worker', spending_limit: 1, rpm_limit: 30 })
    // To the start of a minute: at the end of one, the count would be gone before it is seen.
    dashboard.clock.advance(60_000 - (dashboard.clock.now() % 60_000))
    expect(await call(secret)).toBe(200)
    await owner.api(`/api/keys/${id}`, { allowed_ips: ['127.0.0.1'] }, 'PATCH')
    const { page, complaints } = await dashboard.visit('/keys')
    await page.getByRole('link', { name: 'worker' }).click()
    await page.getByRole('heading', { name: 'worker', level: 1 }).waitFor()
    await page.getByText('Changed allowed IPs').waitFor()
    await page.getByText('Requests per minute: 1 of 30').waitFor()
    await fits(page, 'key')
    expect(complaints()).toEqual([])
    const theirs = await makeKey(await dashboard.owner(), { name: 'theirs' })
    await page.evaluate((to) => history.pushState({}, '', to), `/keys/${theirs.id}`)
    await page.getByText('This key does not exist.').waitFor()
    expect(await page.content()).not.toContain('theirs')
    await page.close()
  })

  test('keeps budgets that nobody changed, with their zones and raises; changes and raises one; names the one that binds', async () => {
    const owner = await dashboard.signedIn()
    const raise = { usd: 1, until: '2098-12-01T08:30:00.000Z' }
    const [day, month] = [
      { limit_usd: 0.03, period: 'day', timezone: 'Asia/Tokyo' },
      { limit_usd: 0.01, period: 'month', timezone: 'Asia/Tokyo', raise },
    ]
    const { id, secret } = await makeKey(owner, { name: 'crawler', budgets: [day, month] })
    const stored = async () => (await (await owner.api(`/api/keys/${id}`)).json()).key
    expect(await call(secret)).toBe(200)
    const { page, complaints } = await dashboard.visit(`/keys/${id}`)
    await page.getByText('Limited by the budget of $0.03 a day').waitFor()
    await page.getByText('$0.005 of $1.01 this month').waitFor()
    await page.getByRole('button', { name: 'Edit key' }).click()
    const form = page.getByRole('dialog', { name: 'Edit key' })
    await form.getByLabel('Name').fill('night crawler')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await page.getByRole('heading', { name: 'night crawler', level: 1 }).waitFor()
    expect((await stored()).budgets).toEqual([day, month])

    await page.getByRole('button', { name: 'Edit key' }).click()
    await form.getByLabel('Per day', { exact: true }).fill('')
    await form.getByLabel('Per week', { exact: true }).fill('0.0000001')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await form.getByText(/^Per week: enter an amount/).waitFor()
    await form.getByLabel('Per week', { exact: true }).fill('0.002')
    await form.getByRole('button', { name: 'Raise for a while per week' }).click()
    await form.getByLabel('Raise by per week').fill('0.005')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await form.getByText(/^Per week: enter the amount to raise it by/).waitFor()
    await form.getByLabel('Until the end of per week').fill('2099-03-04')
    await form.getByLabel('Budget of each scope').selectOption('month')
    await form.getByLabel('Each scope, in USD').fill('0.5')
    await fits(page, 'key-budgets')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText('$0.005 of $0.007 this week').waitFor()
    const saved = await stored()
    expect(saved.budgets).toEqual([
      {
        ...day,
        limit_usd: 0.002,
        period: 'week',
        raise: { usd: 0.005, until: expect.stringMatching(/^2099-03-0[45]T/) },
      },
      month,
    ])
    expect(saved.scope_budget).toEqual({ limit_usd: 0.5, period: 'month' })
    await fits(page, 'key-budgets-page')
    await page.close()
    expect(complaints()).toEqual([])
  })
})
