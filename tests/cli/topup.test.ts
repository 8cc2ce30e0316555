import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { endAndReconcile } from '../http/wire'
import { oauthApp } from '../support/agents/oauth'
import { type Harness, openHarness } from '../support/harness'
import { openStripeDouble, STRIPE_KEY, type StripeDouble, WEBHOOK_SECRET } from '../support/payments/stripe-double'
import { openCli } from './fake-terminal'

/** A command line that is signed in, and a browser that opens what it is told to. */
async function signedIn(gateway: Harness) {
  const owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  const seen: string[] = []
  const cli = await openCli(gateway, {
    browser: async (address) => {
      seen.push(address)
      if (!address.includes('/oauth2/authorize')) return true
      const { location } = await app.visit(new URL(address))
      await fetch(String((await app.decide(location!, true)).body.url))
      return true
    },
  })
  expect((await cli.run('login')).code).toBe(0)
  return { cli, owner, app, seen }
}
const json = (out: string) =>
  JSON.parse(out) as { topup: { state: string; method: string }; url: string | null; balance: Record<string, unknown> }

describe('gateway topup', () => {
  let stripe: StripeDouble
  let gateway: Harness
  beforeAll(async () => {
    stripe = openStripeDouble()
    gateway = await openHarness({
      running: true,
      env: {
        STRIPE_SECRET_KEY: STRIPE_KEY,
        STRIPE_WEBHOOK_SECRET: WEBHOOK_SECRET,
        STRIPE_API_URL: stripe.url,
        SANDBOX_TOPUPS: 'true',
      },
    })
  })
  afterAll(async () => {
    await endAndReconcile(gateway)
    await stripe.close()
  })
  const tell = async (type: string, object: Record<string, unknown>) => {
    const { body, headers } = stripe.message(type, object)
    expect((await gateway.call('/api/webhooks/stripe', { method: 'POST', headers, body })).status).toBe(200)
  }

  test('in the sandbox is paid at once, and shows the new balance', async () => {
    const { cli } = await signedIn(gateway)
    const { code, out } = await cli.run('topup', '10', '--method', 'sandbox', '--json')
    expect(code).toBe(0)
    expect(json(out)).toMatchObject({
      topup: { state: 'paid', method: 'sandbox' },
      url: null,
      balance: { account_balance_micros_usd: 12_000_000 },
    })
    expect((await cli.run('topup', '2.50', '--method', 'sandbox')).out).toBe(
      'Topped up 2.50 USD. The balance is 14.50 USD.\n',
    )
    await cli[Symbol.asyncDispose]()
  })

  test('by card shows the page, waits until the processor has the money, and shows the new balance', async () => {
    const { cli } = await signedIn(gateway)
    let looks = 0
    const { sleep } = cli.terminal
    const patient = {
      ...cli.terminal,
      sleep: async (ms: number) => {
        await sleep(ms)
        if (++looks !== 2) return
        const { id } = stripe.newestPage()
        stripe.pay(id)
        await tell('checkout.session.completed', { id })
      },
    }
    const { code, out, err } = await cli.runAt(patient, 'topup', '25', '--json')
    expect([code, err]).toEqual([0, expect.stringContaining(stripe.newestPage().url)])
    expect(json(out)).toMatchObject({
      topup: { state: 'paid', method: 'card' },
      balance: { account_balance_micros_usd: 27_000_000 },
    })
    expect(looks).toBe(2)
    await cli[Symbol.asyncDispose]()
  })

  test('exits with 1 for a page that ends unpaid, and charges nothing; --no-wait does not wait', async () => {
    const { cli } = await signedIn(gateway)
    const before = (await cli.run('balance', '--json')).out
    const quick = await cli.run('topup', '25', '--no-wait', '--json')
    expect([quick.code, json(quick.out).topup.state]).toEqual([0, 'pending'])
    const { sleep } = cli.terminal
    const patient = {
      ...cli.terminal,
      sleep: async (ms: number) => {
        await sleep(ms)
        const { id } = stripe.newestPage()
        stripe.expire(id)
        await tell('checkout.session.expired', { id })
      },
    }
    const { code, err } = await cli.runAt(patient, 'topup', '25')
    expect([code, err]).toEqual([1, expect.stringContaining('Nothing was charged')])
    const amounts = (text: string) => (JSON.parse(text) as Record<string, unknown>)['account_balance_micros_usd']
    expect(amounts((await cli.run('balance', '--json')).out)).toBe(amounts(before))
    await cli[Symbol.asyncDispose]()
  })

  test('needs an access token with wallet:topup: no key opens a payment page', async () => {
    const { cli, owner, app } = await signedIn(gateway)
    const { secret } = (await (await owner.api('/api/keys', { name: 'a key' })).json()) as { secret: string }
    cli.env['GATEWAY_API_KEY'] = secret
    const refused = await cli.run('topup', '10', '--method', 'sandbox')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('insufficient_permissions')])
    const narrow = await app.connect('usage:read offline_access', ['/v1'])
    for (const method of ['GET', 'POST'])
      expect((await gateway.as(narrow.access_token, '/v1/topups', { method })).status).toBe(403)
    expect((await gateway.call('/v1/topups')).status).toBe(401)
    await cli[Symbol.asyncDispose]()
  })
})

test('where no page is available, says how else to top up', async () => {
  const bare = await openHarness({ env: { SANDBOX_TOPUPS: 'false' } })
  const { cli, seen } = await signedIn(bare)
  const { code, err } = await cli.run('topup', '10')
  expect([code, err]).toEqual([1, expect.stringContaining('accepts no cards')])
  expect((await cli.run('topup')).out).toBe(`Open ${bare.config.baseUrl}/billing in a browser.\n`)
  expect(seen).toHaveLength(1)
  await cli[Symbol.asyncDispose]()
  await endAndReconcile(bare)
})
