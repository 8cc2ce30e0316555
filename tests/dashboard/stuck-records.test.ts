import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits, left } from '../support/dashboard/page-checks'
import { executeOn } from '../support/databases/database-file'
import { until } from '../support/until'

const SEARCH = '/apis/v1/websearch/images/search?q=card'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

test('the Operator page lists stuck records, and books one or discards it with a reason; without any it says nothing', async () => {
  // The first account is an operator, of its own stuck records here.
  const operator = await dashboard.signedIn()
  const { secret } = await (await operator.api('/api/keys', { name: 'stuck' })).json()
  const setCredit = (credit: number) =>
    executeOn(dashboard.databaseFile, 'UPDATE accounts SET credit = ? WHERE id = ?', [credit, operator.accountId])
  const { stuck } = dashboard.core.stores
  await setCredit(0)
  const calls = await Promise.all([SEARCH, SEARCH].map((path) => dashboard.as(secret, path)))
  expect(calls.map(({ status }) => status)).toEqual([200, 200])
  await dashboard.core.stores.applied()
  await until(async () => (await stuck.counts()).records === 2)
  await setCredit(2_000_000)
  const watched = await dashboard.visit('/operator')
  const { page } = watched
  const card = page.getByRole('region', { name: 'Stuck records', exact: true })
  await card.getByText('CHECK constraint failed: account_posted_not_negative').first().waitFor()
  await fits(page, 'operator-stuck')
  await card
    .getByRole('button', { name: /^Book it/ })
    .first()
    .click()
  await page.getByRole('dialog').getByRole('button', { name: 'Book it' }).click()
  await page.getByText('Record booked.').waitFor()
  await card
    .getByRole('button', { name: /^Book it/ })
    .nth(1)
    .waitFor({ state: 'detached' })
  await card.getByRole('button', { name: /^Discard/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByText('Enter a reason.').waitFor()
  await page.getByLabel('Reason').fill('A repair gone wrong.')
  await page.getByRole('dialog').getByRole('button', { name: 'Discard' }).click()
  await page.getByText('Record discarded.').waitFor()
  await card.waitFor({ state: 'detached' })
  expect(await stuck.counts()).toEqual({ records: 0, accounts: 0 })
  await left(watched)
})
