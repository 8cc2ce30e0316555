import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { newSecret } from '../../server/core/credentials/secret'
import { type Harness, type MadeKey, openHarness } from '../support/harness'
import { endAndReconcile, IMAGES_CALL, refusalOf, verdictOf } from './wire'

const HOUR = 3_600_000
const FREE_ROUTES = ['/v1/usage', '/v1/usage/req_x', '/v1/credits/balance']

describe('credentials (spec 5, 7, spec D2, D3)', () => {
  let gateway: Harness
  let key: MadeKey

  beforeAll(async () => {
    gateway = await openHarness({ env: { ANON_RPM: '1000000' } })
    key = await gateway.key(await gateway.account(10))
  })
  afterAll(() => endAndReconcile(gateway))

  const authorized = (authorization: string, path = IMAGES_CALL) => gateway.call(path, { headers: { authorization } })

  describe('the form of Authorization (spec 5.1)', () => {
    test.each<[string, (secret: string) => string]>([
      ['Bearer', (secret) => `Bearer ${secret}`],
      ['bearer in lower case', (secret) => `bearer ${secret}`],
      ['BEARER in upper case', (secret) => `BEARER ${secret}`],
      ['more than one space', (secret) => `Bearer   ${secret}`],
    ])('%s is taken', async (_, form) => {
      expect((await authorized(form(key.secret))).status).toBe(200)
    })

    test.each<[string, (secret: string) => string]>([
      ['no scheme', (secret) => secret],
      ['Bearer without a token', () => 'Bearer'],
      ['Bearer and spaces', () => 'Bearer   '],
      ['an empty header', () => ''],
      ['two tokens', (secret) => `Bearer ${secret} ${secret}`],
      ['a comma', (secret) => `Bearer ${secret},`],
      ['two schemes', (secret) => `Basic eDp5, Bearer ${secret}`],
      ['Basic with the key as password', (secret) => `Basic ${btoa(`user:${secret}`)}`],
      ['Token', (secret) => `Token ${secret}`],
      ['ApiKey', (secret) => `ApiKey ${secret}`],
      ['a tab after Bearer', (secret) => `Bearer\t${secret}`],
      ['a Bearer of another issuer', () => 'Bearer eyJhbGciOiJIUzI1NiJ9.e30.x'],
      ['Bearer in quotes', (secret) => `Bearer "${secret}"`],
    ])('%s is an unknown credential: 401 invalid_api_key, never "none"', async (_, form) => {
      const before = gateway.images.asked.length
      expect(await verdictOf(authorized(form(key.secret)))).toBe('401 invalid_api_key')
      expect(await verdictOf(authorized(form(key.secret), '/v1/usage'))).toBe('401 invalid_api_key')
      expect(gateway.images.asked).toHaveLength(before)
    })

    test('a key that differs in one character is unknown', async () => {
      const at = 20
      const other = key.secret[at] === 'a' ? 'b' : 'a'
      expect(await verdictOf(authorized(`Bearer ${key.secret.slice(0, at)}${other}${key.secret.slice(at + 1)}`))).toBe(
        '401 invalid_api_key',
      )
      expect(await verdictOf(authorized(`Bearer ${key.secret.toLowerCase()}`))).toBe('401 invalid_api_key')
      expect(await verdictOf(authorized(`Bearer ${key.secret}x`))).toBe('401 invalid_api_key')
      expect(await verdictOf(authorized(`Bearer ${key.secret.slice(0, -1)}`))).toBe('401 invalid_api_key')
      expect(await verdictOf(authorized(`Bearer ${key.id}`))).toBe('401 invalid_api_key')
    })

    test('a 401 never repeats the secret that was sent', async () => {
      const answer = await authorized(`Bearer ${key.secret}x`)
      const text = (await answer.text()) + JSON.stringify([...answer.headers])
      expect(text).not.toContain(key.secret)
      expect(gateway.logged.join('')).not.toContain(key.secret)
    })
  })

  describe('a key in another place', () => {
    const model = '/v1beta/models/sandbox/echo'

    test.each(['x-api-key', 'x-goog-api-key', 'api-key', 'X-API-KEY'])(
      '%s is taken on every gated route',
      async (name) => {
        const headers = { [name]: key.secret }
        for (const path of [IMAGES_CALL, '/v1/usage', '/v1/models', '/v1beta/models', model])
          expect((await gateway.call(path, { headers })).status).toBe(200)
        const unknown = { [name]: `${key.secret}x` }
        expect(await verdictOf(gateway.call('/v1/usage', { headers: unknown }))).toBe('401 invalid_api_key')
        expect(await verdictOf(gateway.call('/v1/usage', { headers: { [name]: '' } }))).toBe('401 missing_api_key')
      },
    )

    test("Authorization wins over a vendor's key in the same request, and so does a key of ours", async () => {
      const vendors = { 'x-api-key': 'sk-ant-of-a-vendor', 'api-key': 'abc' }
      const bearer = { authorization: `Bearer ${key.secret}` }
      expect((await gateway.call('/v1/usage', { headers: { ...vendors, ...bearer } })).status).toBe(200)
      expect((await gateway.call('/v1/usage', { headers: { ...vendors, 'x-goog-api-key': key.secret } })).status).toBe(
        200,
      )
      const wrong = { authorization: 'Bearer sk-of-a-vendor', 'x-api-key': key.secret }
      expect(await verdictOf(gateway.call('/v1/usage', { headers: wrong }))).toBe('401 invalid_api_key')
      const twice = { ...bearer, 'x-api-key': key.secret }
      expect((await gateway.call(`${model}?key=${key.secret}`, { headers: twice })).status).toBe(200)
    })

    test('two different keys of ours are 400, wherever they are, and neither is charged', async () => {
      const other = await gateway.key(await gateway.account(10))
      const before = gateway.images.asked.length
      const places: [string, Record<string, string>][] = [
        [IMAGES_CALL, { authorization: `Bearer ${key.secret}`, 'x-api-key': other.secret }],
        [IMAGES_CALL, { 'x-goog-api-key': key.secret, 'api-key': other.secret }],
        [IMAGES_CALL, { 'x-api-key': `${key.secret}, ${other.secret}` }],
        [`${model}?key=${other.secret}`, { authorization: `Bearer ${key.secret}` }],
        [`${model}?key=${other.secret}&key=${key.secret}`, {}],
      ]
      for (const [path, headers] of places) {
        const answer = await gateway.call(path, { headers })
        expect(answer.status).toBe(400)
        expect(await answer.text()).toContain('two different API keys')
      }
      expect(gateway.images.asked).toHaveLength(before)
    })

    test('a key in the query is a credential below /v1beta only, and goes no further', async () => {
      for (const path of [model, '/v1beta/models?pageSize=1&'])
        expect((await gateway.call(`${path}${path.includes('?') ? '' : '?'}key=${key.secret}`)).status).toBe(200)
      for (const name of ['key', 'api_key', 'access_token'])
        expect(await verdictOf(gateway.call(`${IMAGES_CALL}&${name}=${key.secret}`))).toBe('402 payment_required')
      for (const path of ['/v1/models', '/v1/usage'])
        expect(await verdictOf(gateway.call(`${path}?key=${key.secret}`))).toBe('401 missing_api_key')
      const generate = async (version: string) => {
        const headers = { 'content-type': 'application/json' }
        const body = JSON.stringify({ contents: [{ parts: [{ text: 'a' }] }] })
        const path = `/${version}/models/sandbox/echo:generateContent?key=${key.secret}`
        return (await gateway.call(path, { method: 'POST', headers, body })).status
      }
      expect([await generate('v1beta'), await generate('v1')]).toEqual([200, 401])
      expect(gateway.logged.join('')).not.toContain(key.secret)
    })

    test("an owner's session cookie is no credential here", async () => {
      const { cookie } = await gateway.owner()
      expect(await verdictOf(gateway.call('/v1/usage', { headers: { cookie } }))).toBe('401 missing_api_key')
    })
  })

  describe('no credential (spec D2)', () => {
    test.each(FREE_ROUTES)('%s is 401 missing_api_key', async (path) => {
      const answer = await gateway.call(path)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gateway"')
      expect(await refusalOf(answer)).toMatchObject({
        status: 401,
        type: 'authentication_error',
        code: 'missing_api_key',
      })
    })
  })

  describe('the state of a key (spec 3, 7)', () => {
    /** A key of a signed-up owner, and what the owner may do to it. */
    const ownedKey = async (body: Record<string, unknown> = {}) => {
      const { api } = await gateway.owner()
      const { key: record, secret } = await (await api('/api/keys', { name: 'mine', ...body })).json()
      const to = async (verb: string) => expect((await api(`/api/keys/${record.id}/${verb}`, {})).status).toBe(200)
      return { secret: secret as string, id: record.id as string, to, api }
    }
    const inAnHour = () => new Date(gateway.clock.now() + HOUR).toISOString()
    const judged = (secret: string, path = IMAGES_CALL) => authorized(`Bearer ${secret}`, path)

    test('a disabled key is 401 api_key_disabled, and works again when enabled', async () => {
      const { secret, to } = await ownedKey()
      expect((await judged(secret)).status).toBe(200)
      await to('disable')
      const answer = await judged(secret)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gateway", error="api_key_disabled"')
      expect(await refusalOf(answer)).toMatchObject({
        status: 401,
        type: 'authentication_error',
        code: 'api_key_disabled',
      })
      await to('enable')
      expect((await judged(secret)).status).toBe(200)
    })

    test('a key is 401 expired_api_key from the moment of its expiry on, not before', async () => {
      const { secret } = await ownedKey({ expires_at: inAnHour() })
      gateway.clock.advance(HOUR - 1)
      expect((await judged(secret)).status).toBe(200)
      gateway.clock.advance(1)
      const answer = await judged(secret)
      expect(answer.headers.get('www-authenticate')).toBe('Bearer realm="gateway", error="expired_api_key"')
      expect(await refusalOf(answer)).toMatchObject({ status: 401, code: 'expired_api_key' })
    })

    test('a revoked key is 401 invalid_api_key, like an unknown one', async () => {
      const { secret, to } = await ownedKey()
      await to('revoke')
      const revoked = await refusalOf(judged(secret))
      const unknown = await refusalOf(judged(newSecret().secret))
      expect(revoked).toMatchObject({ status: 401, code: 'invalid_api_key' })
      expect({ ...revoked, request_id: '' }).toEqual({ ...unknown, request_id: '' })
    })

    test('a replaced key stops at the end of its grace, as revoked; its successor goes on (spec 5.4)', async () => {
      const { secret, id, api } = await ownedKey()
      const rotated = await (await api(`/api/keys/${id}/rotate`, { grace_period_seconds: 3600 })).json()
      gateway.clock.advance(HOUR - 1)
      expect((await judged(secret)).status).toBe(200)
      gateway.clock.advance(1)
      expect(await verdictOf(judged(secret))).toBe('401 invalid_api_key')
      expect((await judged(rotated.secret)).status).toBe(200)
    })

    test.each<[string, { disable?: true; expire?: true; exhaust?: true; revoke?: true }, string]>([
      [
        'revoked before all others',
        { disable: true, expire: true, exhaust: true, revoke: true },
        '401 invalid_api_key',
      ],
      ['disabled before expired and exhausted', { disable: true, expire: true, exhaust: true }, '401 api_key_disabled'],
      ['expired before exhausted', { expire: true, exhaust: true }, '401 expired_api_key'],
      ['exhausted before nothing', { exhaust: true }, '402 insufficient_api_key_balance'],
    ])('%s (spec D2)', async (_, facts, verdict) => {
      const { secret, to } = await ownedKey({ spending_limit: 0.005, expires_at: inAnHour() })
      if (facts.exhaust) expect((await judged(secret)).status).toBe(200)
      if (facts.disable) await to('disable')
      if (facts.revoke) await to('revoke')
      if (facts.expire) gateway.clock.advance(HOUR)
      expect(await verdictOf(judged(secret))).toBe(verdict)
    })

    test('an exhausted key still reads its usage and balance: only paid calls are refused (spec D2)', async () => {
      const { secret } = await ownedKey({ spending_limit: 0.005 })
      expect((await judged(secret)).status).toBe(200)
      expect(await verdictOf(judged(secret, `${IMAGES_CALL}&count=0`))).toBe('400 invalid_parameter')
      expect(await verdictOf(judged(secret))).toBe('402 insufficient_api_key_balance')
      for (const path of ['/v1/usage', '/v1/credits/balance']) expect((await judged(secret, path)).status).toBe(200)
    })

    test('a disabled or expired key cannot read its usage or balance', async () => {
      const disabled = await ownedKey()
      await disabled.to('disable')
      for (const path of FREE_ROUTES)
        expect(await verdictOf(judged(disabled.secret, path))).toBe('401 api_key_disabled')
    })

    test('the key is checked before the input: bad input with a bad key is 401 (spec D2)', async () => {
      const { secret, to } = await ownedKey()
      await to('disable')
      expect(await verdictOf(judged(secret, `${IMAGES_CALL}&count=0`))).toBe('401 api_key_disabled')
      expect(await verdictOf(judged('gwk_nobody', `${IMAGES_CALL}&count=0`))).toBe('401 invalid_api_key')
    })
  })

  describe('allowed_endpoints (spec D3)', () => {
    test('a key can call the operations of its list and free routes; any other operation is 403 insufficient_permissions', async () => {
      const limited = await gateway.key(await gateway.account(), { allowed_endpoints: ['llm-context'] })
      expect((await gateway.as(limited, '/apis/v1/websearch/llm/context?q=a')).status).toBe(200)
      expect(await refusalOf(gateway.as(limited, IMAGES_CALL))).toMatchObject({
        status: 403,
        type: 'permission_error',
        code: 'insufficient_permissions',
      })
      expect((await gateway.as(limited, '/v1/usage')).status).toBe(200)
    })
  })
})
