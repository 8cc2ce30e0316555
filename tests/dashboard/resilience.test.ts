import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Page } from 'playwright-core'
import { type Dashboard, openDashboard, screenshot, signInCookies, visit } from '../support/dashboard/browser'
import { freePort } from '../support/servers/free-port'
import { dataFolder, removeFolder, signUp, startServer } from '../support/servers/server-process'

const SEARCH = '/apis/v1/websearch/images/search?q=card'

type Owner = Awaited<ReturnType<Dashboard['signedIn']>>

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

async function makeKey(owner: Owner, body: Record<string, unknown>): Promise<{ id: string; secret: string }> {
  const made = await (await owner.api('/api/keys', body)).json()
  return { id: made.key.id, secret: made.secret }
}
const row = (page: Page, name: string) => page.getByRole('row').filter({ hasText: name })

async function choose(page: Page, name: string, act: string) {
  await page.getByRole('button', { name: `Actions for ${name}` }).click()
  await page.getByRole('menuitem', { name: act, exact: true }).click()
}

describe('money on the screen', () => {
  test('a limit of $0.01 stops at exactly two calls, with 20 sent at once, and the page shows it', async () => {
    const owner = await dashboard.signedIn()
    const { secret } = await makeKey(owner, { name: 'two', spending_limit: 0.01 })
    const { page, complaints } = await dashboard.visit('/keys')
    await row(page, 'two').getByText('$0.00 of $0.01').waitFor()
    const calls = Array.from({ length: 20 }, async () => {
      const answer = await fetch(dashboard.origin + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
      await answer.text()
      return answer.status
    })
    const statuses = await Promise.all(calls)
    expect(statuses.filter((status) => status === 200).length).toBe(2)
    expect(statuses.filter((status) => status === 402).length).toBe(18)
    await row(page, 'two').getByText('$0.01 of $0.01').waitFor()
    await row(page, 'two').getByText('Limit reached').waitFor()
    // The list says it itself; other pages have a notice that can be hidden.
    const notice = page.getByText('The key "two" has used up its spending limit.')
    expect(await notice.count()).toBe(0)
    await page.getByRole('link', { name: 'Usage' }).click()
    await notice.waitFor()
    await page.getByRole('button', { name: 'Hide' }).click()
    await notice.waitFor({ state: 'detached' })
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Usage' }).waitFor()
    expect(await notice.count()).toBe(0)
    await page.close()
    expect(complaints()).toEqual([])
  })

  test('two tabs show the same, whichever one makes the change', async () => {
    const owner = await dashboard.signedIn()
    await makeKey(owner, { name: 'shared' })
    const [one, other] = [await dashboard.visit('/keys'), await dashboard.visit('/keys')]
    await row(other.page, 'shared').getByText('Active').waitFor()
    await one.page.bringToFront()
    await choose(one.page, 'shared', 'Disable key')
    await row(other.page, 'shared').getByText('Disabled').waitFor()
    await other.page.bringToFront()
    await choose(other.page, 'shared', 'Enable key')
    await row(one.page, 'shared').getByText('Active').waitFor()
    await one.page.close()
    await other.page.close()
    expect([...one.complaints(), ...other.complaints()]).toEqual([])
  })
})

/** A read of the list of keys, alone or in a batch. */
const KEYS_READ = /\/api\/(batch\?.*)?keys(\?|%3F)/

describe('failures on a page', () => {
  test('a list that fails says what happened, shows the request id, and reloads with its button', async () => {
    const owner = await dashboard.signedIn()
    await makeKey(owner, { name: 'there' })
    const { page } = await dashboard.visit('/')
    await page.getByText('Live', { exact: true }).waitFor()
    // It may quote what a stranger wrote: text, whatever it looks like.
    const message = 'The table of keys is <img src="x" onerror="document.title=1"> on fire.'
    const body = { error: { type: 'api_error', code: 'internal_error', message, request_id: 'req_tested' } }
    await page.route(KEYS_READ, (route) => route.fulfill({ status: 500, json: body }))
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.getByText('Request req_tested').first().waitFor()
    await page.getByText(message).first().waitFor()
    expect(await page.locator('img[src=x]').count()).toBe(0)
    await page.getByText('If this keeps happening, contact the operator of this gateway.').first().waitFor()
    await screenshot(page, 'keys-failed')
    await page.unroute(KEYS_READ)
    await page.getByRole('button', { name: 'Try again' }).first().click()
    await row(page, 'there').waitFor()
    await page.close()
  })

  test('without a network it says how old the figures are, keeps them, and recovers on its own', async () => {
    const owner = await dashboard.signedIn()
    const { secret } = await makeKey(owner, { name: 'steady' })
    const { page } = await dashboard.visit('/keys')
    await page.getByText('Live', { exact: true }).waitFor()
    await dashboard.cutOff()
    await page.getByText(/^As of \d\d:\d\d$/).waitFor()
    await row(page, 'steady').waitFor()
    await screenshot(page, 'keys-stale')
    dashboard.connect()
    await dashboard.as(secret, SEARCH)
    await page.getByText('Live', { exact: true }).waitFor()
    await row(page, 'steady').getByText('$0.005 · no limit').waitFor()
    await page.close()
  })

  test('a server that is down at the first load is reported, and the page appears once it is back', async () => {
    await dashboard.signedIn()
    const { page } = await dashboard.visit('/favicon.svg')
    await page.route('**/api/account', (route) => route.abort())
    await page.goto(`${dashboard.origin}/keys`)
    await page.getByRole('heading', { name: "Can't reach the gateway" }).waitFor()
    await screenshot(page, 'server-away')
    await page.unroute('**/api/account')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('heading', { name: 'API keys', level: 1 }).waitFor()
    await page.close()
  })
})

describe('a server that dies in the middle of a toggle', () => {
  test('the key shows its actual state again, in words, also when the server is back', async () => {
    const folder = await dataFolder()
    const port = String(await freePort())
    let server = await startServer(folder, { PORT: port })
    try {
      const owner = await signUp(server.url, 'restart@example.com')
      await owner.api('/api/keys', { name: 'survivor' })
      await dashboard.browser.clearCookies()
      await dashboard.browser.addCookies(signInCookies(owner.cookie, server.url))
      const { page } = await visit(dashboard.browser, server.url, '/keys')
      await row(page, 'survivor').getByText('Active').waitFor()
      // The report of a failure loads once the page is still, so that it is there when the server is not.
      for (const part of ['toaster', 'menu-list'])
        await page.waitForFunction(
          (name) => performance.getEntriesByType('resource').some((entry) => entry.name.includes(name)),
          part,
        )
      process.kill(server.pid, 'SIGSTOP')
      await choose(page, 'survivor', 'Disable key')
      await row(page, 'survivor').getByText('Disabled').waitFor()
      await server.kill('SIGKILL')
      await page.getByText("Couldn't save: Couldn't reach the gateway. Check your connection and try again.").waitFor()
      await row(page, 'survivor').getByText('Active').waitFor()
      server = await startServer(folder, { PORT: port })
      await page.getByText('Live', { exact: true }).waitFor()
      await row(page, 'survivor').getByText('Active').waitFor()
      const { keys } = await owner.api('/api/keys')
      expect(keys[0].status).toBe('active')
      await page.close()
    } finally {
      await server.kill('SIGTERM')
      await removeFolder(folder)
    }
    // On a fresh checkout the index of searches is built first.
  }, 240_000)
})
