import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { oauthApp } from '../../support/agents/oauth'
import { type Harness, openHarness } from '../../support/harness'
import { confirmed, decide, type Link, linkKey } from '../../support/social/linked-key'

const JSON_TYPE = { 'content-type': 'application/json' }

let gateway: Harness
let token = ''
let readsOnly = ''
let key = { id: '', secret: '' }
let foreign = { id: '', secret: '' }
beforeAll(async () => {
  gateway = await openHarness()
  const owner = await gateway.owner()
  const made = async (of: typeof owner) => {
    const body = (await (await of.api('/api/keys', { name: 'a key' })).json()) as {
      key: { id: string }
      secret: string
    }
    return { id: body.key.id, secret: body.secret }
  }
  key = await made(owner)
  foreign = await made(await gateway.owner())
  const app = oauthApp(gateway, owner)
  token = (await app.connect('social:write offline_access', ['/apis/v1'])).access_token
  readsOnly = (await app.connect('data:read offline_access', ['/apis/v1'])).access_token
})
afterAll(() => gateway.close())

const ask = async (path: string, init: RequestInit = {}, as = token) => {
  const answer = await gateway.as(as, `/apis/v1/social/${path}`, init)
  const body = (await answer.json()) as { data?: { username?: string }; error?: { code: string; param?: string } }
  return { status: answer.status, code: body.error?.code ?? null, body }
}
const post = (path: string, body: unknown, as = token) =>
  ask(path, { method: 'POST', headers: JSON_TYPE, body: JSON.stringify(body) }, as)

describe('an app with an access token names the key whose account acts (spec D10)', () => {
  test('links an account to a key of its owner, and acts as it', async () => {
    const started = await post('auth_social', { key_id: key.id })
    expect(started.status).toBe(200)
    await confirmed(gateway, await decide(gateway, started.body as unknown as Link))
    const me = await ask(`user_social?key_id=${key.id}`)
    expect([me.status, me.body.data?.username]).toEqual([200, 'ada'])
    expect((await post('post_social', { content: 'From an app', key_id: key.id })).status).toBe(200)
  })

  test.each([
    ['no key', () => ''],
    ["another account's key", () => `?key_id=${foreign.id}`],
    ['a key that is none', () => `?key_id=key_${'0'.repeat(32)}`],
  ])('403 social_session_required for %s', async (_, query) => {
    await linkKey(gateway, foreign.secret)
    expect(await ask(`user_social${query()}`)).toMatchObject({ status: 403, code: 'social_session_required' })
    const body = query() === '' ? {} : { key_id: query().slice('?key_id='.length) }
    expect(await post('auth_social', body)).toMatchObject({ status: 403, code: 'social_session_required' })
  })

  test('403 insufficient_scope without social:write', async () => {
    for (const answer of [
      await ask(`user_social?key_id=${key.id}`, {}, readsOnly),
      await post('auth_social', {}, readsOnly),
    ])
      expect(answer).toMatchObject({ status: 403, code: 'insufficient_scope' })
  })
})

describe('a key acts for itself', () => {
  test('naming itself changes nothing, naming another key is refused', async () => {
    expect((await ask(`user_social?key_id=${key.id}`, {}, key.secret)).status).toBe(200)
    const other = await ask(`user_social?key_id=${foreign.id}`, {}, key.secret)
    expect([other.status, other.code, other.body.error?.param]).toEqual([403, 'insufficient_permissions', 'key_id'])
  })
})
