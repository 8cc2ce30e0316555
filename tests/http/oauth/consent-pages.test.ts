import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthApp } from '../../support/agents/oauth'
import { axeFindings, type Dashboard, openDashboard, screenshot } from '../../support/dashboard/browser'

let dashboard: Dashboard
beforeAll(async () => {
  dashboard = await openDashboard()
})
afterAll(() => dashboard.close())

const DOORS = ['/sign-in', '/sign-up', '/consent', '/device', '/forgot-password', '/reset-password', '/confirm-email']

describe('the pages of sign-in, consent and devices cannot be framed, are not cached and send no referrer', () => {
  test.each(DOORS)('%s', async (path) => {
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await fetch(dashboard.origin + path, { method })
      const policy = headers.get('content-security-policy') ?? ''
      for (const part of ["frame-ancestors 'none'", "form-action 'self'", "connect-src 'self'", "base-uri 'self'"])
        expect([method, policy.includes(part)]).toEqual([method, true])
      expect(policy).not.toContain("'unsafe-eval'")
      expect(headers.get('x-frame-options')).toBe('DENY')
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('referrer-policy')).toBe('no-referrer')
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('a page elsewhere cannot embed the consent page in a frame', async () => {
    const owner = await dashboard.signedIn()
    const app = oauthApp(dashboard, owner)
    const { location } = await app.visit(app.authorizeUrl().url)
    const evil = Bun.serve({
      hostname: '127.0.0.1',
      port: 0,
      fetch: () => new Response(`<iframe src="${location}"></iframe>`, { headers: { 'content-type': 'text/html' } }),
    })
    const page = await dashboard.browser.newPage()
    const refused = page.waitForEvent('console', (line) =>
      /frame-ancestors|X-Frame-Options|Refused|violates/i.test(line.text()),
    )
    await page.goto(`http://127.0.0.1:${evil.port}/`)
    await refused
    expect(await page.frames()[1]?.locator('button').count()).toBe(0)
    await page.close()
    await evil.stop(true)
  })

  test('redirects with codes in their addresses send no referrer', async () => {
    const app = oauthApp(dashboard, await dashboard.signedIn())
    const { answer } = await app.visit(app.authorizeUrl().url)
    expect([answer.headers.get('referrer-policy'), answer.headers.get('cache-control')]).toEqual([
      'no-referrer',
      'no-store',
    ])
  })
})

describe('the consent page', () => {
  /** Opens the consent page of an app that calls itself so. */
  async function asks(client_name: string) {
    const app = oauthApp(dashboard, await dashboard.signedIn())
    const { body } = await app.register({ client_name, logo_uri: 'https://evil.example/logo.png' })
    const { location } = await app.visit(
      app.authorizeUrl({
        client_id: String(body['client_id']),
        scope: 'data:read social:write keys:write offline_access',
      }).url,
    )
    const watched = await dashboard.visit(`${location?.pathname}${location?.search}`)
    await watched.page.getByRole('button', { name: 'Allow' }).waitFor()
    return { ...watched, app, location: location! }
  }

  test('an app’s name is shown as text, on one line, cut; no picture or link of it, and nothing of it runs', async () => {
    const name = `<img src=x onerror="document.title='owned'"><a href="https://evil.example">Official</a> \u202eelgooG\n${'x'.repeat(500)}`
    const { page, complaints } = await asks(name)
    const heading = (await page.getByRole('heading', { level: 2 }).textContent()) ?? ''
    expect(heading).toContain('<img src=x')
    expect(heading).not.toMatch(/[\u202e\n]/)
    expect(heading.length).toBeLessThan(120)
    expect(await page.title()).not.toContain('owned')
    expect(await page.locator('a[href*="evil"], img').count()).toBe(0)
    expect(await axeFindings(page)).toEqual([])
    await screenshot(page, 'consent-hostile')
    expect(complaints()).toEqual([])
    await page.close()
  })

  test('it says where the answer goes, that the app is unverified, what it may do in words, and that calls cost money', async () => {
    const { page } = await asks('An app')
    const text = await page.locator('body').textContent()
    for (const said of ['http://127.0.0.1:7777', 'This app is not verified', 'Search images and text', 'balance'])
      expect(text).toContain(said)
    for (const scope of ['data:read', 'social:write', 'keys:write']) expect(text).not.toContain(scope)
    await page.close()
  })
})
