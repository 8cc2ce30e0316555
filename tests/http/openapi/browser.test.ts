import { afterAll, beforeAll, expect, test } from 'bun:test'
import { type Dashboard, openDashboard, PHONE, screenshot } from '../../support/dashboard/browser'
import { fits, heading, left } from '../../support/dashboard/page-checks'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

test('/docs shows the operations, logs nothing to the console, and requests nothing from another origin', async () => {
  const watched = await dashboard.visit('/docs')
  const { page } = watched
  const warnings: string[] = []
  page.on('console', (message) => {
    if (message.type() === 'warning') warnings.push(message.text())
  })
  await page.reload()
  for (const words of ['Paid data API gateway', 'Image search', 'LLM context search', 'Usage', 'Keys'])
    await page.getByText(words, { exact: true }).first().waitFor()
  await page.getByText('Image search', { exact: true }).first().click()
  await page.getByText('The search query.').first().waitFor()
  const text = (await page.locator('main').textContent()) ?? ''
  expect(text).toContain('Catalog price: 0.005 USD')
  expect(text).not.toMatch(/Ask AI|Deploy|Share/)
  // The operations of models are a group; the records of the document are not another one of that name.
  const group = (name: string) => page.locator('aside').getByText(name, { exact: true }).count()
  expect([await group('Models'), await group('Schemas')]).toEqual([1, 1])
  expect(warnings).toEqual([])
  await screenshot(page, 'docs')
  await left(watched)
})

test('/docs/guide is read and searched on a desk and on a phone, in light and dark', async () => {
  const watched = await dashboard.visit('/docs/guide/configuration')
  const { page } = watched
  await fits(page, 'guide')
  await page.setViewportSize(PHONE)
  await page.getByLabel('Search the guide').fill('who is operator')
  await page.keyboard.press('Enter')
  await page.locator('.hit a').first().click()
  expect(page.url()).toEndWith('/docs/guide/operating/install#who-is-operator')
  await page.getByRole('link', { name: 'Pages', exact: true }).click()
  await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Configuration' }).click()
  await heading(page, 'Configuration')
  await left(watched)
})
