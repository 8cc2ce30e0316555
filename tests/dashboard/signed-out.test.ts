import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { axeFindings, becomes, type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

describe('a visitor who is not signed in', () => {
  test('is sent to sign in from any page, and returns to it afterwards', async () => {
    const { email } = await dashboard.owner()
    await dashboard.browser.clearCookies()
    const { page } = await dashboard.visit('/limits?from=mail')
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    expect(page.url()).toContain('/sign-in?to=')
    await page.getByLabel('Email').fill(email)
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('**/limits?from=mail')
    await page.close()
  })

  test('sees at / what is sold, on a phone too, and gets from there to sign in and to the API', async () => {
    await dashboard.browser.clearCookies()
    const { page, complaints } = await dashboard.visit('/')
    await page.getByRole('link', { name: 'Web search' }).waitFor()
    await fits(page, 'storefront')
    await page.getByRole('link', { name: 'Web search' }).click()
    await page.getByRole('cell', { name: 'GET /apis/v1/websearch/images/search' }).waitFor()
    await fits(page, 'storefront-api')
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('sees the same sentence for a wrong email and a wrong password, keeps what was typed, and is sent to no other site', async () => {
    const { email } = await dashboard.owner()
    await dashboard.browser.clearCookies()
    const { page } = await dashboard.visit('/sign-in?to=%2F%2Fevil.example%2F')
    const password = page.getByLabel('Password', { exact: true })
    for (const tried of ['nobody@example.com', email]) {
      await page.getByLabel('Email').fill(tried)
      await password.fill('not the right one')
      await page.getByRole('button', { name: 'Sign in' }).click()
      await page.getByText('Email or password is wrong.').waitFor()
      await becomes(() => page.getByLabel('Email').inputValue(), tried)
      await becomes(() => password.inputValue(), 'not the right one')
    }
    await password.fill('correct horse battery')
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    expect(new URL(page.url()).origin).toBe(dashboard.origin)
    await page.close()
  })
})

describe('the page layout', () => {
  test('passes axe and never scrolls sideways, in light and dark, on desktop and phone', async () => {
    await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/')
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.getByText('$2.00').locator('visible=true').first().waitFor()
    await fits(page, 'overview')
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('keeps a chosen theme after a reload, and signs out from the account menu', async () => {
    const { email } = await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/')
    await page.getByRole('button', { name: email }).click()
    await page.getByRole('menuitemcheckbox', { name: 'Theme: Dark' }).click()
    await becomes(() => page.evaluate(() => getComputedStyle(document.body).color), 'rgb(240, 239, 234)')
    await page.reload()
    await becomes(() => page.evaluate(() => getComputedStyle(document.body).color), 'rgb(240, 239, 234)')
    await page.getByRole('button', { name: email }).click()
    expect(await axeFindings(page)).toEqual([])
    await page.getByRole('menuitem', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'Sign in' }).waitFor()
    // The remaining cookie distinguishes a browser of the owner from a stranger's, and opens nothing.
    const names = (await dashboard.browser.cookies()).map(({ name }) => name)
    expect(names).toEqual(['gateway_known_browser'])
    await page.evaluate(() => localStorage.clear())
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('asks to sign in again over the page when the session ended elsewhere', async () => {
    const { email, api } = await dashboard.signedIn()
    const { page } = await dashboard.visit('/')
    await page.getByText('Live', { exact: true }).waitFor()
    await api('/api/auth/sign-out', {})
    await page.getByRole('dialog', { name: 'Your session has ended' }).waitFor()
    expect(await axeFindings(page)).toEqual([])
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await becomes(() => page.getByLabel('Email').inputValue(), email)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.close()
  })
})

describe('the sign-in pages', () => {
  test('pass axe and never scroll sideways, in light and dark, on desktop and phone, and at 320 px', async () => {
    await dashboard.browser.clearCookies()
    const { page, complaints } = await dashboard.visit('/sign-in')
    for (const path of ['/sign-up', '/sign-in']) {
      await follow(page, path)
      await page.getByLabel('Email').waitFor()
      await fits(page, `door${path.replace('/', '-')}`)
      await page.setViewportSize({ width: 320, height: 640 })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await fits(page)
      }
    }
    await page.close()
    expect(complaints()).toEqual([])
  })
})
