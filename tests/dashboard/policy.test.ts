import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Disposable, Page, Request } from 'playwright-core'
import { type Dashboard, follow, openDashboard } from '../support/dashboard/browser'
import { heading } from '../support/dashboard/page-checks'
import { drawn } from '../support/dashboard/tabs'
import { until } from '../support/until'

const RAIL = 'nav[aria-label=Pages]'
/** Those that the rail of an owner does not lead to. */
const PAGES = [
  ...[
    '/welcome',
    '/notices',
    '/operator',
    '/operator/audit',
    '/operator/models',
    '/operator/money',
    '/requests/req_none',
  ],
  ...['/sign-in', '/sign-up', '/forgot-password', '/reset-password', '/confirm-email', '/consent'],
  ...['/device', '/no-such-page', '/social', '/webhooks', '/audit'],
]

let dashboard: Dashboard
let watching: Disposable
beforeAll(async () => {
  dashboard = await openDashboard()
  // The first account is the operator, who may not leave.
  await dashboard.signedIn()
  watching = await dashboard.browser.addInitScript(() => {
    const seen: string[] = []
    Object.assign(globalThis, { seen })
    document.addEventListener('securitypolicyviolation', ({ effectiveDirective, blockedURI, sourceFile }) =>
      seen.push(`${effectiveDirective} ${blockedURI} ${sourceFile}`),
    )
  })
})
afterAll(async () => {
  await watching.dispose()
  await dashboard.close()
})

const violations = (page: Page) => page.evaluate(() => Reflect.get(globalThis, 'seen'))

/** Waits until all that the page asked for was answered and drawn, but for the stream of events. */
function pendingRequests(page: Page): () => Promise<void> {
  const pending = new Set<Request>()
  page.on('request', (request) => void (request.url().includes('/api/events') || pending.add(request)))
  const answered = (request: Request) => void pending.delete(request)
  page.on('requestfinished', answered).on('requestfailed', answered)
  return async () => {
    do {
      await until(() => pending.size === 0)
      await drawn(page)
    } while (pending.size > 0)
  }
}

describe("the dashboard's content security policy", () => {
  test('allows no style or script that is not a file of ours', async () => {
    const policy = (await fetch(`${dashboard.origin}/sign-in`)).headers.get('content-security-policy')
    expect(policy).toContain("default-src 'self'; style-src 'self';")
    expect(policy).not.toMatch(/unsafe|nonce|\*/)
  })

  test('is violated by no page; the rail leads to each of its pages once, and all of them exist', async () => {
    const owner = await dashboard.signedIn()
    const made = await (await owner.api('/api/keys', { name: 'laptop' })).json()
    for (let i = 0; i < 3; i++) await dashboard.as(made.secret, '/apis/v1/websearch/images/search?q=card')
    // Every path is served the same document under the same policy, so one load is enough.
    const { page, complaints } = await dashboard.visit('/limits')
    await heading(page, 'Limits')
    const answered = pendingRequests(page)
    const links = await page.getByRole('navigation', { name: 'Pages', exact: true }).getByRole('link').all()
    const rail = await Promise.all(links.map(async (link) => (await link.getAttribute('href')) ?? ''))
    expect(rail.length).toBeGreaterThan(6)
    expect(new Set(rail).size).toBe(rail.length)
    const shown = async () => {
      await answered()
      return [new URL(page.url()).pathname, await violations(page)]
    }
    for (const path of rail.filter((one) => !one.startsWith('/docs'))) {
      await page.locator(`${RAIL} a[href="${path}"]`).click()
      await page.locator(`${RAIL} a[href="${path}"][aria-current=page]`).waitFor()
      expect(await shown()).toEqual([path, []])
      expect(`${path} ${await page.getByRole('heading', { level: 1 }).textContent()}`).not.toContain('not found')
    }
    expect(complaints()).toEqual([])
    for (const path of [...PAGES, `/keys/${made.key.id}`]) {
      await follow(page, path)
      expect(await shown()).toEqual([path, []])
    }
    await page.close()
  })
})
