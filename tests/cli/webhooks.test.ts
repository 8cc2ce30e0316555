import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { DeliveryPage, OneWebhook, WebhookList, WebhookWithSecret } from '../../server/http/webhooks/record'
import { oauthApp } from '../support/agents/oauth'
import { type Harness, openHarness } from '../support/harness'
import { openOperatorConsole } from '../support/operator-console'
import { reconcile } from '../support/reconcile'
import { codeOfWebhook } from '../support/webhooks'
import { openCli } from './fake-terminal'

type Owner = Awaited<ReturnType<Harness['owner']>>

let gateway: Harness
let operator: Owner
let owner: Owner
let cli: Awaited<ReturnType<typeof openCli>>
let receiver: Bun.Server<undefined>
let operatorConsole: ReturnType<typeof openOperatorConsole>
const received: { path: string; id: string | null; type: string }[] = []

beforeAll(async () => {
  receiver = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    async fetch(request) {
      const { type } = (await request.json()) as { type: string }
      if (type === 'webhook.confirm') return new Response('ok')
      received.push({ path: new URL(request.url).pathname, id: request.headers.get('webhook-id'), type })
      return new Response('ok')
    },
  })
  gateway = await openHarness({ env: { WEBHOOKS_ALLOW_PRIVATE: 'true' } })
  operator = await gateway.owner('operator@example.com')
  owner = await gateway.owner()
  const app = oauthApp(gateway, owner)
  cli = await openCli(gateway, {
    browser: async (address) => {
      const { location } = await app.visit(new URL(address))
      if (!location) throw new Error('no consent page')
      const { body } = await app.decide(location, true)
      await fetch(String(body.url))
      return true
    },
  })
  expect((await cli.run('login')).code).toBe(0)
  operatorConsole = openOperatorConsole(gateway)
})
afterAll(async () => {
  await operatorConsole.close()
  await cli[Symbol.asyncDispose]()
  await gateway.close(true)
  await receiver.stop(true)
  expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
})

const url = (path: string) => `http://127.0.0.1:${receiver.port}${path}`

/** Runs a command that succeeds. */
async function webhooks(...words: string[]) {
  const { code, out, err } = await cli.run('webhooks', ...words)
  expect(`${code} ${err}`).toStartWith('0 ')
  return { out, err }
}
const asJson = async <T>(...words: string[]) => JSON.parse((await webhooks(...words, '--json')).out) as T

/** A round of deliveries, and all that it sends. */
async function round() {
  await gateway.gateway.delivering.run()
  await gateway.gateway.delivering.settled()
}

describe('webhooks', () => {
  test('are added, tested, changed, paused, resumed and removed; standard output is only the secret', async () => {
    expect((await webhooks('list')).out).toBe('No webhooks.\n')
    const added = await webhooks('add', url('/own'), '--events', 'key.created,balance.low')
    expect(added.out).toMatch(/^whsec_[A-Za-z0-9+/]{43}=\n$/)
    expect(added.err).toContain('key.created balance.low')
    const { webhooks: all } = await asJson<WebhookList>('list')
    const { id } = all[0] ?? { id: '' }
    expect(JSON.stringify(all)).not.toContain('whsec_')
    expect(added.err).toContain(`webhooks confirm ${id} CODE`)
    const early = await cli.run('webhooks', 'test', id)
    expect([early.code, early.err]).toEqual([1, expect.stringContaining('unconfirmed')])
    expect((await webhooks('code', url('/own'))).out).toContain('webhook.confirm')
    expect((await cli.run('webhooks', 'confirm', id, 'WRONG000')).code).toBe(1)
    const entered = await webhooks('confirm', id, await codeOfWebhook(gateway, id))
    expect(entered.out).toContain('active')

    await webhooks('test', url('/own'))
    await round()
    expect(received.splice(0)).toMatchObject([{ path: '/own', type: 'webhook.test' }])
    const { deliveries } = await asJson<DeliveryPage>('deliveries', id, '--limit', '1')
    expect(deliveries).toMatchObject([{ type: 'webhook.test', status: 'delivered', response_status: 200 }])
    expect((await webhooks('resend', id, deliveries[0]?.id ?? '')).out).toContain('pending')
    await round()
    expect(received.splice(0)).toMatchObject([{ id: deliveries[0]?.event_id, type: 'webhook.test' }])
    expect((await webhooks('deliveries', id)).out).toContain(deliveries[0]?.id ?? '-')

    expect((await asJson<OneWebhook>('set', id, '--to', url('/moved'), '--events', 'all')).webhook).toMatchObject({
      url: url('/moved'),
      events: [],
      status: 'unconfirmed',
    })
    await webhooks('confirm', id, await codeOfWebhook(gateway, id))
    expect((await webhooks('pause', id)).out).toContain('paused')
    const refused = await cli.run('webhooks', 'test', id)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('invalid_state')])
    expect((await webhooks('resume', id)).out).toContain('active')
    const rotated = await asJson<WebhookWithSecret>('rotate', id)
    expect(rotated.secret).toStartWith('whsec_')
    expect(rotated.secret).not.toBe(added.out.trim())
    expect((await webhooks('show', id)).out).toContain('previous secret signs too')
    expect((await webhooks('remove', id)).out).toBe(`Removed ${id}.\n`)
    expect((await webhooks('list')).out).toBe('No webhooks.\n')
    const { entries } = (await (await owner.api('/api/audit?limit=200')).json()) as {
      entries: { action: string; actor: string }[]
    }
    const acts = entries.filter(({ action }) => action.startsWith('webhook.'))
    expect(new Set(acts.map(({ actor }) => actor))).toEqual(new Set(['app']))
    expect(acts.map(({ action }) => action).at(-1)).toBe('webhook.create')
  })

  test('of others cannot be reached, and wrong usage sends nothing', async () => {
    const { webhook } = (await (await operator.api('/api/webhooks', { url: url('/operator') })).json()) as OneWebhook
    for (const act of ['show', 'rotate', 'remove', 'test', 'deliveries']) {
      const { code, err } = await cli.run('webhooks', act, webhook.id)
      expect([code, err]).toEqual([2, expect.stringContaining(`no webhook "${webhook.id}"`)])
    }
    const token = cli.sent.at(-1)?.headers.get('authorization')?.replace('Bearer ', '') ?? ''
    for (const path of ['/rotate', '/test', '/deliveries'])
      expect(
        (
          await gateway.as(token, `/v1/webhooks/${webhook.id}${path}`, {
            method: path === '/deliveries' ? 'GET' : 'POST',
          })
        ).status,
      ).toBe(404)
    const before = cli.sent.length
    for (const words of [
      [],
      ['nonsense'],
      ['add'],
      ['set', 'hook_1'],
      ['resend', 'hook_1'],
      ['confirm', 'hook_1'],
      ['deliveries', 'x', '--limit', 'y'],
    ])
      expect((await cli.run('webhooks', ...words)).code).toBe(2)
    expect(cli.sent.length).toBe(before)
    const operators = await cli.run('webhooks', 'add', url('/x'), '--events', 'ledger.alarm')
    expect([operators.code, operators.err]).toEqual([1, expect.stringContaining('only operators receive it')])
    expect((await cli.run('webhooks', '--help')).out).toContain('resend WEBHOOK DELIVERY')
    await operator.api(`/api/webhooks/${webhook.id}`, undefined, 'DELETE')
  })

  test('need a sign-in with webhooks:write: no API key changes them', async () => {
    const { secret } = (await (await owner.api('/api/keys', { name: 'no webhooks' })).json()) as { secret: string }
    cli.env['GATEWAY_API_KEY'] = secret
    const byKey = await cli.run('webhooks', 'list')
    delete cli.env['GATEWAY_API_KEY']
    expect([byKey.code, byKey.err]).toEqual([1, expect.stringContaining('insufficient_permissions')])
    const { access_token } = await oauthApp(gateway, owner).connect('keys:write offline_access', ['/v1'])
    expect((await gateway.as(access_token, '/v1/webhooks')).status).toBe(403)
  })
})

describe('operator webhooks', () => {
  const run = (...words: string[]) => operatorConsole.run('webhooks', ...words)

  test('receive the events of the gateway; the only operator needs no name', async () => {
    const output = await run('add', url('/gateway'), '--events', 'ledger.alarm')
    expect(output).toMatch(/\nwhsec_[A-Za-z0-9+/]{43}=\n$/)
    const { webhooks: all } = JSON.parse(await run('list', '--json')) as WebhookList
    expect(all).toMatchObject([{ url: url('/gateway'), events: ['ledger.alarm'] }])
    const id = all[0]?.id ?? ''
    expect(await run('code', id)).toContain('webhook.confirm')
    expect(await run('confirm', id, await codeOfWebhook(gateway, id))).toContain('active')
    await run('test', id)
    await round()
    expect(received.splice(0)).toMatchObject([{ path: '/gateway', type: 'webhook.test' }])
    const { deliveries } = JSON.parse(await run('deliveries', id, '--json')) as DeliveryPage
    expect(await run('resend', id, deliveries[0]?.id ?? '')).toContain('pending')
    expect(await run('pause', id)).toContain('paused')
    expect(await run('resume', id)).toContain('active')
    expect(await run('rotate', id)).toContain('cannot be shown again')
    expect(await run('remove', id, '--account', 'operator@example.com').catch(String)).toContain('never confirmed')
    expect(await run('remove', id)).toBe(`Removed ${id}.\n`)
    const seen = (await (await operator.api('/api/audit?limit=200')).json()) as {
      entries: { action: string; actor: string }[]
    }
    expect(seen.entries.find(({ action }) => action === 'webhook.create')?.actor).toBe('operator')
  })

  test('are never those of a customer, and with several operators one is named', async () => {
    const { id } = (await (await owner.api('/api/account')).json()) as { id: string }
    expect(await run('list', '--account', id).catch(String)).toContain('is not an operator')
    await operatorConsole.run('role', id, 'operator')
    expect(await run('list').catch(String)).toContain('several operators')
    expect(await run('list', '--account', id)).toBe('No webhooks.\n')
    await operatorConsole.run('role', id, '--none')
    expect(await run('--help')).toContain('webhooks COMMAND [--account ACCOUNT]')
  })
})
