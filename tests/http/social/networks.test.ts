import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { micros } from '../../../server/core/money'
import { type Harness, openHarness } from '../../support/harness'
import { reconcile } from '../../support/reconcile'
import { confirmed, linkKey, startLink } from '../../support/social/linked-key'
import { creditsDepleted, problem, tooMany, XDouble } from '../../support/social/x-double'
import { DUPLICATE, FORBIDDEN, noSuchUser } from '../../support/social/x-recordings'

const JSON_TYPE = { 'content-type': 'application/json' }
const POST = '/apis/v1/social/post_social'

interface Told {
  readonly error: { readonly code: string; readonly message: string }
}

describe('the real network (SOCIAL_PROVIDER=x), against a double of it on a socket', () => {
  let double: XDouble
  let gateway: Harness
  let secret = ''
  const bodies: string[] = []
  beforeAll(async () => {
    double = new XDouble()
    gateway = await openHarness({
      env: {
        SOCIAL_PROVIDER: 'x',
        X_CLIENT_ID: double.clientId,
        X_CLIENT_SECRET: double.clientSecret,
        X_API_URL: double.url,
        SOCIAL_COSTS_USD: 'social-post=0.01,social-post-with-address=0.05',
        BASE_URL: 'https://gateway.example',
      },
    })
    const account = await gateway.account()
    await gateway.core.ledger.credit({
      account: account.id,
      part: 'paid',
      kind: 'top_up',
      amount: micros(20_000_000),
      description: 'Top-up',
      reference: 'test',
    })
    secret = (await gateway.key(account)).secret
  })
  afterAll(async () => {
    await double.stop()
    await gateway.close()
  })

  const as = async (path: string, init: RequestInit = {}, key = secret) => {
    const answer = await gateway.as(key, path, init)
    bodies.push(await answer.clone().text(), JSON.stringify([...answer.headers]))
    return answer
  }
  const post = (content: string) => as(POST, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify({ content }) })

  test("links by the vendor's own addresses, with offline.access, and acts", async () => {
    const link = await startLink(gateway, secret)
    expect(link.auth_url).toStartWith('https://x.com/i/oauth2/authorize?')
    expect(new URL(link.auth_url).searchParams.get('scope')).toContain('offline.access')
    const page = await confirmed(gateway, double.decide(link.auth_url, 'approve'))
    expect(await page.text()).toContain('@XDevelopers is linked')
    const answer = await post('Hello')
    expect([answer.status, answer.headers.get('x-cost-micros-usd')]).toEqual([200, '15000'])
    expect(double.postsSaying('Hello')).toBe(1)
    // The network's price for the operator is kept with the call; a read without a price is unknown.
    await post('See https://example.com')
    await as('/apis/v1/social/user_social')
    await gateway.core.stores.applied()
    const calls = await gateway.core.stores.db.all<{ operation: string; cost: number | null }>(
      'SELECT operation, upstream_cost AS cost FROM requests WHERE cost > 0 ORDER BY id',
    )
    expect(calls).toEqual([
      { operation: 'social-post', cost: 10_000 },
      { operation: 'social-post', cost: 50_000 },
      { operation: 'social-user', cost: null },
    ])
  })

  test.each([
    ['401, and again with a new token', () => problem({ title: 'Unauthorized' }, 401), 200, null],
    ['402', creditsDepleted, 503, 'upstream_unavailable'],
    ['403 of the plan', () => problem(FORBIDDEN), 503, 'upstream_unavailable'],
    ['429', () => tooMany(), 429, 'upstream_rate_limit'],
    ['500', () => problem({ title: 'Internal Error' }, 500), 504, 'upstream_timeout'],
  ])(
    "its %s is reported in the gateway's words, without details of our account there",
    async (_, response, status, code) => {
      double.next = response
      const answer = await post(`A sentence about ${status} ${code} ${Math.floor(performance.now() * 1000)}`)
      const body = (await answer.json()) as Partial<Told>
      expect([answer.status, body.error?.code ?? null]).toEqual([status, code])
      expect(answer.headers.get('x-cost-micros-usd')).toBe(status === 200 ? '15000' : '0')
      expect(JSON.stringify(body)).not.toMatch(/credits|2036532529868496897|enrolled/i)
      for (const name of answer.headers.keys()) expect(name).not.toStartWith('x-rate-limit-')
    },
  )

  test.each([
    ['403 about the content', () => problem(DUPLICATE), 403, 'duplicate content'],
    ['200 with only errors', () => Response.json(noSuchUser('nobody')), 404, 'Could not find user'],
  ])('its %s is passed on in its own format', async (_, response, status, words) => {
    double.next = response
    const answer = await post('Something')
    expect(answer.status).toBe(status)
    expect(await answer.text()).toContain(words)
  })

  test('signup credit does not pay for it (spec D4)', async () => {
    const key = await gateway.key(await gateway.account())
    await confirmed(gateway, double.decide((await startLink(gateway, key)).auth_url, 'approve'))
    const answer = await as('/apis/v1/social/user_social', {}, key.secret)
    expect([answer.status, ((await answer.json()) as Told).error.code]).toEqual([402, 'insufficient_balance'])
  })

  test('no token, code or client secret in any log line, body, header or file (spec 5.4)', async () => {
    const needles = new Set<string>([double.clientSecret])
    for (const { authorization, body } of double.requests) {
      if (authorization?.startsWith('Bearer ')) needles.add(authorization.slice(7))
      for (const name of ['code', 'code_verifier', 'refresh_token']) {
        const value = new URLSearchParams(body).get(name)
        if (value) needles.add(value)
      }
    }
    expect(needles.size).toBeGreaterThan(6)
    const places = new Map<string, string>([
      ['the log', gateway.logged.join('\n')],
      ['the answers', bodies.join('\n')],
    ])
    for (const name of await readdir(gateway.folder))
      places.set(name, await readFile(join(gateway.folder, name), 'latin1').catch(() => ''))
    expect([...places.keys()]).toEqual(expect.arrayContaining(['gateway.db', 'gateway.db-wal']))
    const found: string[] = []
    for (const [place, text] of places)
      for (const needle of needles) if (text.includes(needle)) found.push(`${needle} in ${place}`)
    expect(found).toEqual([])
  })

  test('the books are right', async () => {
    await gateway.core.stores.applied()
    expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
  })

  test('the sandbox is not served with it', async () => {
    expect((await gateway.call('/sandbox/social')).status).toBe(404)
    expect((await gateway.call('/sandbox/social/2/users/me')).status).toBe(404)
  })
})

describe('production', () => {
  const PRODUCTION = {
    NODE_ENV: 'production',
    SEALING_KEYS: `k1:${'A'.repeat(43)}=`,
    BASE_URL: 'https://gateway.example',
  }

  test('without SOCIAL_PROVIDER there is no network: linking and acting are 503, and no sandbox is reachable (spec D6)', async () => {
    const gateway = await openHarness({ env: PRODUCTION })
    const key = await gateway.key(await gateway.account())
    for (const [path, init] of [
      ['/apis/v1/social/auth_social', { method: 'POST' }],
      ['/apis/v1/social/user_social', {}],
    ] as const) {
      const answer = await gateway.as(key, path, init)
      expect([answer.status, ((await answer.json()) as Told).error.code]).toEqual([503, 'upstream_unavailable'])
    }
    for (const path of ['', '/authorize', '/2/oauth2/token', '/people/ada'])
      expect((await gateway.call(`/sandbox/social${path}`)).status).toBe(404)
    await gateway.close()
  })

  test('switched on by name, the sandbox serves', async () => {
    const gateway = await openHarness({ env: { ...PRODUCTION, SOCIAL_PROVIDER: 'sandbox' } })
    const key = await gateway.key(await gateway.account())
    await linkKey(gateway, key)
    expect((await gateway.as(key, '/apis/v1/social/user_social')).status).toBe(200)
    await gateway.close()
  })
})
