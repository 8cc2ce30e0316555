import { join } from 'node:path'
import { control, type ServerProcess, signUp } from '../servers/server-process'
import type { World } from './attempt'

const RICH = 'rich@example.com'
/** Has its signup credit only, which the run uses up. */
const POOR = 'poor@example.com'

/** Accounts, keys in every state, and sessions, on a server that was just started. `balances` reads what its keys can pay with. */
export async function makeWorld(server: ServerProcess, folder: string) {
  const rich = await signUp(server.url, RICH)
  const owner = await signUp(server.url, 'owner@example.com')
  const poor = await signUp(server.url, POOR)
  for (const { id } of [rich, poor])
    await control(folder, `/accounts/${id}/limits`, { limits: { rpm: 1e8, tpm: 1e8, concurrency: 1000 } })
  await control(folder, `/accounts/${rich.id}/grants`, { usd: '100000' })
  const key = async (who: typeof rich, name: string, more: object = {}) =>
    (await who.api('/api/keys', { name, ...more })) as { key: { id: string }; secret: string }
  const good = await key(rich, 'good')
  const others = await Promise.all([
    key(rich, 'disabled'),
    key(rich, 'expired', { expires_at: new Date(Date.now() + 5000).toISOString() }),
    key(rich, 'exhausted', { spending_limit: 0.01 }),
    key(rich, 'elsewhere', { allowed_ips: ['10.0.0.0/8', '2001:db8::/32'] }),
    key(rich, 'narrow', { allowed_endpoints: ['llm-context'] }),
    key(rich, 'slow', { rpm_limit: 1 }),
    key(rich, 'leaked'),
    key(rich, 'revoked'),
    key(poor, 'poor'),
  ])
  const [disabled, , , , , slow, leaked, revoked, poorKey] = others
  await rich.api(`/api/keys/${disabled?.key.id}/disable`, {})
  await rich.api(`/api/keys/${revoked?.key.id}/revoke`, {})
  const rotated = await rich.api(`/api/keys/${leaked?.key.id}/rotate`, { grace_period_seconds: 0 })
  const owned = await Promise.all(['one', 'two', 'three', 'four', 'five'].map((name) => key(owner, name)))
  const world: World = {
    port: Number(new URL(server.url).port),
    goodKey: good.secret,
    slowKey: slow.secret,
    otherKeys: [...others.map(({ secret }) => secret), `${rotated.secret}`, 'gwk_unknown', `${good.secret}x`],
    ownerCookie: owner.cookie,
    doomedCookie: (await signUp(server.url, 'doomed@example.com')).cookie,
    keyIds: [...owned.map(({ key: { id } }) => id), good.key.id, `${disabled?.key.id}`],
  }
  const balances = async () => {
    let sum = 0
    for (const { secret } of [good, poorKey]) {
      const headers = { authorization: `Bearer ${secret}` }
      const said = await (await fetch(`${server.url}/v1/credits/balance`, { headers })).json()
      sum += said.available_balance_micros_usd
    }
    return sum
  }
  return { world, balances, database: join(folder, 'gateway.db') }
}
