import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { axeFindings, becomes, type Dashboard, openDashboard } from '../support/dashboard/browser'
import { fits } from '../support/dashboard/page-checks'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

describe('the first run', () => {
  test('leads from sign-up to live usage: a key shown once, a request seen arriving, the balance after it', async () => {
    await dashboard.browser.clearCookies()
    const begun = performance.now()
    const { page, complaints } = await dashboard.visit('/sign-up')
    await page.getByLabel('Email').fill('grace@example.com')
    await page.getByLabel('Password', { exact: true }).fill('correct horse battery')
    await page.getByRole('button', { name: 'Create account' }).click()
    const secret = await page.getByRole('textbox', { name: 'API key' }).inputValue()
    expect(secret).toMatch(/^gwk_[0-9A-Za-z]{49}$/)
    await page.getByRole('button', { name: 'Copy key' }).click()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
    await page.getByText('Waiting for the first request…').waitFor()
    const called = performance.now()
    expect((await dashboard.as(secret, '/apis/v1/websearch/images/search?q=card')).status).toBe(200)
    await page.getByText(/^First request received · 200 · \$0\.005 · \d+ ms$/).waitFor()
    const seen = performance.now()
    await page.getByText('$1.99').locator('visible=true').first().waitFor()
    await page.getByText('This hour: 1 request, $0.005').waitFor()
    const ended = performance.now()
    console.log(`first run: ${Math.round(ended - begun)} ms, of it ${Math.round(seen - called)} ms from call to screen`)
    expect(ended - begun).toBeLessThan(60_000)
    await fits(page, 'welcome')
    await page.getByRole('button', { name: 'Go to dashboard' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    await page.close()
    // The door asks who is there before anybody is.
    expect(complaints().filter((line) => !line.includes('401'))).toEqual([])
  })

  test('works without a terminal, and shows code that runs unchanged in a shell, in Bun and in Python', async () => {
    await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/welcome')
    const secret = await page.getByRole('textbox', { name: 'API key' }).inputValue()
    await page.getByRole('button', { name: 'Run it here' }).click()
    await page.getByText(/^First request received · 200/).waitFor()
    const runners = { JavaScript: ['bun', '-e'], Python: ['python3', '-c'], curl: ['bash', '-c'] }
    for (const [language, command] of Object.entries(runners)) {
      await page.getByRole('tab', { name: language }).click()
      const code = (await page.getByRole('region', { name: 'The request as code' }).textContent()) ?? ''
      expect(code).toContain(secret)
      if (Bun.which(command[0] ?? '') === null) continue
      const run = Bun.spawn([...command, code], { stdout: 'pipe', stderr: 'pipe' })
      const [said, exit] = [await new Response(run.stdout).text(), await run.exited]
      expect(`${language} ${exit} ${said}`).toContain('fixture')
    }
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('asks before the key is lost, and stores nothing of it afterwards', async () => {
    await dashboard.signedIn()
    const { page, complaints } = await dashboard.visit('/welcome')
    const secret = await page.getByRole('textbox', { name: 'API key' }).inputValue()
    await page.getByRole('link', { name: 'API keys' }).click()
    const dialog = page.getByRole('dialog', { name: 'Leave without copying the key?' })
    await dialog.waitFor()
    expect(await axeFindings(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Close' }).click()
    await becomes(() => page.getByRole('textbox', { name: 'API key' }).inputValue(), secret)
    await page.getByRole('button', { name: 'Go to dashboard' }).click()
    await dialog.getByRole('button', { name: 'Copy key and leave' }).click()
    await page.getByRole('heading', { name: 'Overview', level: 1 }).waitFor()
    expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(secret)
    const left = await page.evaluate(() =>
      [
        document.documentElement.outerHTML,
        location.href,
        JSON.stringify({ ...localStorage, ...sessionStorage }),
      ].join(),
    )
    expect(left).not.toContain(secret)
    expect(dashboard.logged.join()).not.toContain(secret)
    await page.goBack()
    await page.getByRole('heading', { name: 'You already have a key' }).waitFor()
    await page.close()
    expect(complaints()).toEqual([])
  })
})
