import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { ADA, linkKey, startLink } from '../../support/social/linked-key'

let gateway: Harness
let consent: URL
beforeAll(async () => {
  gateway = await openHarness()
  consent = new URL((await startLink(gateway, await gateway.key(await gateway.account()))).auth_url)
})
afterAll(() => gateway.close())

const at = (url: URL) => gateway.call(url.pathname + url.search)
const form = (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
    body: new URLSearchParams(fields).toString(),
  })

describe('the consent page', () => {
  test('shows the people to choose from and the permissions, and sends its form to itself and back to the gateway only', async () => {
    const page = await at(consent)
    const text = await page.text()
    for (const words of [
      'Ada Lovelace',
      'Grace Hopper',
      'Post, reply, quote and delete for you',
      'Deny',
      'sandbox network',
    ])
      expect(text).toContain(words)
    expect(page.headers.get('content-security-policy')).toMatch(
      /default-src 'none'; style-src 'sha256-[^']+'; form-action 'self' http:\/\/127\.0\.0\.1:3000; base-uri 'none'; frame-ancestors 'none'/,
    )
    expect(text).not.toContain('<script')
  })

  test.each([
    ['client_id', 'another'],
    ['redirect_uri', 'https://evil.example/callback'],
    ['redirect_uri', 'http://127.0.0.1:3000/apis/v1/social/oauth_callback?next=//evil.example'],
    ['response_type', 'token'],
    ['code_challenge_method', 'plain'],
    ['code_challenge', 'short'],
    ['scope', 'tweet.read admin'],
    ['state', ''],
  ])('with %s=%s is an error page without a redirect, for GET and POST', async (name, value) => {
    const wrong = new URL(consent)
    wrong.searchParams.set(name, value)
    const page = await at(wrong)
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
    const fields = { ...Object.fromEntries(wrong.searchParams), user: ADA.id, decision: 'approve' }
    const sent = await form(wrong.pathname, fields)
    expect([sent.status, sent.headers.get('location')]).toEqual([400, null])
  })

  test('a form that another site sent is refused', async () => {
    const fields = { ...Object.fromEntries(consent.searchParams), user: ADA.id, decision: 'approve' }
    expect((await form(consent.pathname, fields, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    expect((await form(consent.pathname, fields, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await form(consent.pathname, fields, { origin: 'null' })).status).toBe(403)
  })

  test('shows what an app wrote as text', async () => {
    const marked = new URL(consent)
    marked.searchParams.set('state', '"><script>alert(1)</script>')
    const text = await (await at(marked)).text()
    expect(text).not.toContain('<script>alert')
    expect(text).toContain('&lt;script&gt;')
  })
})

describe('the timeline', () => {
  test("shows callers' texts as text: no markup of theirs runs", async () => {
    const key = await gateway.key(await gateway.account(5))
    await linkKey(gateway, key)
    const content = '<img src=x onerror=alert(1)> & "quotes" </article><script>alert(2)</script>'
    const posted = await gateway.as(key, '/apis/v1/social/post_social', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ content }),
    })
    expect(posted.status).toBe(200)
    const page = await gateway.call('/sandbox/social')
    const text = await page.text()
    expect(text).toContain('&lt;img src=x onerror=alert(1)&gt;')
    expect(text).not.toMatch(/<img|<script/)
    expect(page.headers.get('content-security-policy')).toStartWith("default-src 'none'")
  })
})

describe("a test user's settings", () => {
  test('can withdraw access, expire tokens and make calls fail, and the gateway then meets each', async () => {
    const key = await gateway.key(await gateway.account(5))
    await linkKey(gateway, key)
    const who = () => gateway.as(key, '/apis/v1/social/user_social')
    const settings = '/sandbox/social/people/ada'
    await form(settings, { do: 'fault', fault: 'rate_limit', times: '1' })
    expect((await who()).status).toBe(429)
    expect((await who()).status).toBe(200)
    await form(settings, { do: 'expire' })
    expect((await who()).status).toBe(200)
    const page = await (await gateway.call(settings)).text()
    for (const [, grant] of page.matchAll(/name="grant" value="(\d+)"/g))
      await form(settings, { do: 'withdraw', grant: grant ?? '' })
    expect((await who()).status).toBe(403)
    expect(await (await gateway.call(settings)).text()).toContain('No app has access.')
  })
})

describe('unknown paths', () => {
  test.each(['/sandbox/social/people/nobody', '/sandbox/social/nothing', '/sandbox/social/people/a%2Fb'])(
    '%s is 404',
    async (path) => {
      expect((await gateway.call(path)).status).toBe(404)
    },
  )

  test('a body of a megabyte is not read', async () => {
    const answer = await form('/sandbox/social/2/oauth2/token', { code: 'x'.repeat(1_000_000) })
    expect(answer.status).toBe(413)
  })
})
