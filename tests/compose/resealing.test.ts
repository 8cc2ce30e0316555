import { expect, test } from 'bun:test'
import { closeReconciled, read } from '../http/owner-bench'
import { openHarness } from '../support/harness'
import { until } from '../support/until'
import { confirmWebhook } from '../support/webhooks'

const key = (id: string) => `${id}:${Buffer.alloc(32, id).toString('base64')}`
const DONE = 'older keys can be removed'

interface Stored {
  readonly secret: string
  readonly previous_secret: string
  readonly auth: string
}

test('with a new sealing key, the secrets of webhooks and APIs are sealed with it before the log says that the old one can go', async () => {
  const receiver = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => new Response('ok') })
  const env = { WEBHOOKS_ALLOW_PRIVATE: 'true' }
  const first = await openHarness({ env: { ...env, SEALING_KEYS: key('k1') } })
  const owner = await first.owner()
  const url = `http://127.0.0.1:${receiver.port}/`
  const { webhook } = await read<{ webhook: { id: string } }>(owner.api('/api/webhooks', { url }), 201)
  await confirmWebhook(first, owner, webhook.id)
  await read(owner.api(`/api/webhooks/${webhook.id}/rotate`, undefined, 'POST'), 201)
  const operation = { id: 'forecast', method: 'GET', path: '/v1/forecast', price: { mode: 'fixed', usd: '0.01' } }
  const api = { name: 'weather', base_url: 'https://api.weather.example', auth: 'bearer:secret:vendor-secret-2' }
  await read(owner.api('/api/operator/apis', { ...api, operations: [operation] }), 201)
  await first.close(true)

  const { folder } = first
  const reopened = (SEALING_KEYS: string) => openHarness({ folder, env: { ...env, SEALING_KEYS } })
  const stored = async (of: typeof first) => {
    const [row] = await of.core.stores.db.all<Stored>('SELECT secret, previous_secret, auth FROM webhooks, apis')
    return Object.values(row ?? {})
  }
  // The key of another gateway opens nothing: that is said, once for each webhook and API, and nothing is lost.
  const wrong = await reopened(key('k3'))
  expect(wrong.logged.filter((line) => line.includes('not in the ring'))).toHaveLength(2)
  expect(wrong.logged.join('')).not.toContain(DONE)
  await wrong.close(true)

  const both = await reopened(`${key('k2')},${key('k1')}`)
  await until(() => both.logged.some((line) => line.includes(DONE)))
  for (const text of await stored(both)) expect(text).toContain('v1.k2.')
  // A change writes no secret of the old key back.
  const session = { cookie: owner.cookie, 'content-type': 'application/json' }
  const changed = { method: 'PATCH', headers: session, body: JSON.stringify({ title: 'Weather' }) }
  await read(both.call('/api/operator/apis/weather', changed))
  for (const text of await stored(both)) expect(text).toContain('v1.k2.')
  await both.close(true)

  const last = await reopened(key('k2'))
  await read(last.call(`/api/webhooks/${webhook.id}/test`, { method: 'POST', headers: session }), 202)
  await last.gateway.delivering.run()
  await last.gateway.delivering.settled()
  const { deliveries } = await read<{ deliveries: readonly { status: string }[] }>(
    last.call(`/api/webhooks/${webhook.id}/deliveries`, { headers: session }),
  )
  expect(deliveries.map(({ status }) => status)).toContain('delivered')
  await closeReconciled(last)
  await receiver.stop(true)
})
