import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Dashboard, follow, openDashboard, PHONE, screenshot, sidewaysScroll } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

const SEARCH = '/apis/v1/websearch/images/search?q=card'

test('keys are tagged, found by tag, disabled together after one question, and kept as a view and a file', async () => {
  const owner = await dashboard.signedIn()
  const make = async (name: string, tags: readonly string[]) => {
    const made = await (await owner.api('/api/keys', { name, tags })).json()
    return { id: String(made.key.id), secret: String(made.secret) }
  }
  const [shop, site] = [await make('shop', ['production', 'team a']), await make('site', ['production'])]
  await make('laptop', ['2026'])
  expect((await dashboard.as(shop.secret, SEARCH)).status).toBe(200)

  const { page, complaints } = await dashboard.visit(`/keys/${site.id}`)
  await page.getByRole('button', { name: 'Edit key' }).click()
  const form = page.getByRole('dialog', { name: 'Edit key' })
  await form.getByLabel('Tags').fill('x'.repeat(33))
  await form.getByRole('button', { name: 'Save changes' }).click()
  await form.getByText('Enter at most 10 tags of at most 32 characters each.').waitFor()
  await form.getByLabel('Tags').fill('production, web site, production')
  await form.getByRole('button', { name: 'Save changes' }).click()
  await page.getByRole('link', { name: 'web site' }).waitFor()
  await page.getByText('Changed tags').waitFor()

  await page.getByRole('link', { name: 'production' }).click()
  await page.waitForURL('**/keys?tag=production')
  const row = (name: string) => page.getByRole('row').filter({ hasText: name })
  await row('shop').waitFor()
  expect(await row('laptop').count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Download CSV' }).getAttribute('href')).toBe(
    '/api/keys.csv?tag=production',
  )
  await page.getByLabel('Select shop').check()
  await page.getByRole('button', { name: 'Select all shown' }).click()
  await page.getByText('2 keys selected').waitFor()
  await page.getByRole('button', { name: 'Disable selected' }).click()
  expect((await dashboard.as(site.secret, SEARCH)).status).toBe(200)
  await fits(page, 'keys-selected')
  await page.getByRole('button', { name: 'Disable 2 keys' }).click()
  await page.getByText('2 keys are disabled.').waitFor()
  expect([(await dashboard.as(shop.secret, SEARCH)).status, (await dashboard.as(site.secret, SEARCH)).status]).toEqual([
    401, 401,
  ])
  await row('shop').getByText('Disabled', { exact: true }).waitFor()

  await page.getByRole('button', { name: 'Saved views' }).click()
  const views = page.getByRole('dialog', { name: 'Saved views' })
  await views.getByLabel('Name').fill('Our production')
  await views.getByRole('button', { name: 'Save this view' }).click()
  await views.getByRole('link', { name: 'Our production' }).waitFor()
  await fits(page, 'saved-views')
  // The room of the scrollbar, which no scrim covers, is as dark as the page next to it.
  expect(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor)).toBe(
    'rgb(161, 161, 160)',
  )
  await views.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'API keys' }).click()
  await row('laptop').waitFor()
  await page.getByRole('button', { name: 'Saved views' }).click()
  await views.getByRole('link', { name: 'Our production' }).click()
  await page.waitForURL('**/keys?tag=production')
  await row('laptop').waitFor({ state: 'detached' })

  // Digits are text in a view, as in the address that it keeps.
  await follow(page, '/notices')
  await follow(page, '/keys?tag=%222026%22')
  await row('laptop').waitFor()
  await page.getByRole('button', { name: 'Saved views' }).click()
  await views.getByLabel('Name').fill('This year')
  await views.getByRole('button', { name: 'Save this view' }).click()
  await views.getByRole('link', { name: 'This year' }).waitFor()
  await views.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('link', { name: 'API keys' }).click()
  await row('shop').waitFor()
  await page.getByRole('button', { name: 'Saved views' }).click()
  await views.getByRole('link', { name: 'This year' }).click()
  await row('shop').waitFor({ state: 'detached' })
  await row('laptop').waitFor()

  // The outcome for the keys is still shown when the filter no longer lists them.
  await follow(page, '/notices')
  await follow(page, '/keys?status=active')
  await page.getByLabel('Select laptop').check()
  await page.getByRole('button', { name: 'Disable selected' }).click()
  await page.getByRole('button', { name: 'Disable 1 key' }).click()
  await row('laptop').waitFor({ state: 'detached' })
  await page.getByText('1 key is disabled.').waitFor()
  await page.getByRole('button', { name: 'Clear selection' }).click()
  await page.getByText('1 key is disabled.').waitFor({ state: 'detached' })

  await follow(page, '/usage?group=tag')
  await page.getByText('A key with several tags counts in each of them.').waitFor()
  await page.getByRole('button', { name: 'Show requests of team a' }).waitFor()
  // The calls of a key with two tags count once in the total.
  await page.getByRole('row', { name: 'Total 4 2 0 $0.01 100%' }).waitFor()
  await page.getByRole('button', { name: 'Show requests of team a' }).click()
  await page.waitForURL('**tag=team*')
  await page.setViewportSize(PHONE)
  expect(await sidewaysScroll(page)).toBe(0)
  await screenshot(page, 'usage-by-tag')
  await page.close()
  expect(complaints()).toEqual([])
})
