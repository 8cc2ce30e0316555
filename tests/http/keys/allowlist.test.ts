import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { endAndReconcile, IMAGES_CALL, refusalOf, verdictOf } from '../wire'

/** Calls come over a trusted proxy, so that a test chooses the address they come from. */
describe('allowed IPs (spec 2.1, 5.5, spec D2, D3)', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness({ env: { TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/8' } })
  })
  afterAll(() => endAndReconcile(gateway))

  const keyFor = async (...allowed: string[]) => gateway.key(await gateway.account(), { allowed_ips: allowed })
  const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

  test.each<[string, string[], string, boolean]>([
    ['an IPv4 address', ['203.0.113.7'], '203.0.113.7', true],
    ['its neighbour', ['203.0.113.7'], '203.0.113.8', false],
    ['the first of a CIDR range', ['203.0.113.0/25'], '203.0.113.0', true],
    ['the last of a CIDR range', ['203.0.113.0/25'], '203.0.113.127', true],
    ['one past a CIDR range', ['203.0.113.0/25'], '203.0.113.128', false],
    ['one before a CIDR range', ['203.0.113.128/25'], '203.0.113.127', false],
    ['any IPv4 under 0.0.0.0/0', ['0.0.0.0/0'], '198.51.100.1', true],
    ['an IPv6 under 0.0.0.0/0', ['0.0.0.0/0'], '2001:db8::1', false],
    ['an IPv4 under ::/0', ['::/0'], '198.51.100.1', false],
    ['an IPv6 address in another spelling', ['2001:db8::7'], '2001:DB8:0:0:0:0:0:7', true],
    ['its neighbour', ['2001:db8::7'], '2001:db8::8', false],
    ['the last of an IPv6 range', ['2001:db8::/64'], '2001:db8::ffff:ffff:ffff:ffff', true],
    ['one past an IPv6 range', ['2001:db8::/64'], '2001:db8:0:1::', false],
    ['a mapped address under its IPv4', ['203.0.113.7'], '::ffff:203.0.113.7', true],
    ['an IPv4 under its mapped address', ['::ffff:203.0.113.7'], '203.0.113.7', true],
    ['a mapped address under an IPv4 range', ['203.0.113.0/24'], '::ffff:cb00:7109', true],
    ['an IPv4 under a mapped range', ['::ffff:203.0.113.0/120'], '203.0.113.200', true],
    ['one of several entries', ['198.51.100.1', '2001:db8::/32', '203.0.113.7'], '2001:db8:1::1', true],
    ['none of several entries', ['198.51.100.1', '2001:db8::/32', '203.0.113.7'], '192.0.2.1', false],
  ])('%s: %p judges %s as %p', async (_, allowed, address, passes) => {
    const answer = await gateway.as(await keyFor(...allowed), IMAGES_CALL, from(address))
    if (passes) expect(answer.status).toBe(200)
    else expect(await verdictOf(answer)).toBe('403 ip_not_allowed')
  })

  test('an empty list allows every address', async () => {
    const key = await keyFor()
    for (const address of ['203.0.113.7', '2001:db8::1'])
      expect((await gateway.as(key, IMAGES_CALL, from(address))).status).toBe(200)
  })

  test('403 is a permission_error that names the address, runs nothing and costs nothing', async () => {
    const key = await keyFor('203.0.113.7')
    const before = gateway.images.asked.length
    const answer = await gateway.as(key, IMAGES_CALL, from('198.51.100.9'))
    expect(answer.headers.get('x-cost-micros-usd')).toBe('0')
    const refusal = await refusalOf(answer)
    expect(refusal).toMatchObject({ status: 403, type: 'permission_error', code: 'ip_not_allowed' })
    expect(refusal.message).toContain('198.51.100.9')
    expect(gateway.images.asked).toHaveLength(before)
  })

  test('the list binds free routes as well', async () => {
    const key = await keyFor('203.0.113.7')
    for (const path of ['/v1/usage', '/v1/usage/x', '/v1/credits/balance'])
      expect(await verdictOf(gateway.as(key, path, from('198.51.100.9')))).toBe('403 ip_not_allowed')
  })

  test.each<[string, Record<string, string>]>([
    ['an allowed address left of the own one', { 'x-forwarded-for': '203.0.113.7, 198.51.100.9' }],
    ['an allowed address left of two hops', { 'x-forwarded-for': '203.0.113.7, 198.51.100.9, 10.0.0.2' }],
    ['an allowed address left of rubbish', { 'x-forwarded-for': '203.0.113.7, rubbish' }],
    ['Forwarded beside X-Forwarded-For', { 'x-forwarded-for': '198.51.100.9', forwarded: 'for=203.0.113.7' }],
    ['an allowed address left in Forwarded', { forwarded: 'for=203.0.113.7, for=198.51.100.9' }],
    ['by= in Forwarded', { forwarded: 'for=198.51.100.9;by=203.0.113.7' }],
    ['headers that nobody here writes', { 'x-real-ip': '203.0.113.7', 'cf-connecting-ip': '203.0.113.7' }],
    ['true-client-ip', { 'true-client-ip': '203.0.113.7', 'x-client-ip': '203.0.113.7' }],
  ])('a caller who spoofs %s stays outside', async (_, headers) => {
    const key = await keyFor('203.0.113.7')
    expect(await verdictOf(gateway.as(key, IMAGES_CALL, { headers }))).toBe('403 ip_not_allowed')
  })

  test('an unknown address matches no allowlist, not even one of all addresses, and is logged once', async () => {
    const key = await keyFor('0.0.0.0/0', '::/0', '127.0.0.1')
    const headers = { forwarded: 'for=203.0.113.7' }
    for (let i = 0; i < 3; i++) {
      const refusal = await refusalOf(gateway.as(key, IMAGES_CALL, { headers }))
      expect(refusal).toMatchObject({ status: 403, code: 'ip_not_allowed' })
    }
    const told = gateway.logged.filter((line) => line.includes('a trusted proxy sends forwarded without'))
    expect(told).toHaveLength(1)
    expect(told[0]).toContain('TRUSTED_PROXY_HEADER')
  })

  test('a change of the list binds the next request (spec D3)', async () => {
    const { api } = await gateway.owner()
    const { key, secret } = await (await api('/api/keys', { name: 'moving', allowed_ips: ['203.0.113.7'] })).json()
    expect((await gateway.as(secret, IMAGES_CALL, from('203.0.113.7'))).status).toBe(200)
    await api(`/api/keys/${key.id}`, { allowed_ips: ['203.0.113.8'] }, 'PATCH')
    expect(await verdictOf(gateway.as(secret, IMAGES_CALL, from('203.0.113.7')))).toBe('403 ip_not_allowed')
    expect((await gateway.as(secret, IMAGES_CALL, from('203.0.113.8'))).status).toBe(200)
  })

  test('order: 401 of the key state before 403, 403 before the rate limit and the input (spec D2)', async () => {
    const { api } = await gateway.owner()
    const { key, secret } = await (
      await api('/api/keys', { name: 'both', allowed_ips: ['203.0.113.7'], rpm_limit: 1 })
    ).json()
    const outside = () => gateway.as(secret, `${IMAGES_CALL}&count=0`, from('198.51.100.9'))
    for (let i = 0; i < 3; i++) expect(await verdictOf(outside())).toBe('403 ip_not_allowed')
    await api(`/api/keys/${key.id}/disable`, {})
    expect(await verdictOf(outside())).toBe('401 api_key_disabled')
  })
})

describe('with TRUSTED_PROXY_HEADER=forwarded (spec D3)', () => {
  let gateway: Harness

  beforeAll(async () => {
    gateway = await openHarness({
      env: { TRUSTED_PROXIES: '127.0.0.1', TRUSTED_PROXY_HEADER: 'forwarded', ANON_RPM: '3' },
    })
  })
  afterAll(() => endAndReconcile(gateway))

  test('Forwarded of a trusted proxy is believed, and an X-Forwarded-For of the caller is not', async () => {
    const key = await gateway.key(await gateway.account(), { allowed_ips: ['2001:db8::/32'] })
    const forwarded = 'for="[2001:db8::7]:4711";proto=https'
    for (const headers of [{ forwarded }, { forwarded, 'x-forwarded-for': '203.0.113.7' }])
      expect((await gateway.as(key, IMAGES_CALL, { headers })).status).toBe(200)
    const allowed = { forwarded: 'for=203.0.113.9', 'x-forwarded-for': '2001:db8::7' }
    expect(await verdictOf(gateway.as(key, IMAGES_CALL, { headers: allowed }))).toBe('403 ip_not_allowed')
  })

  test('all unknown callers share one window', async () => {
    const from = (address: string) => gateway.call(IMAGES_CALL, { headers: { 'x-forwarded-for': address } })
    const verdicts: string[] = []
    for (let i = 0; i < 4; i++) verdicts.push(await verdictOf(await from(`203.0.113.${i}`)))
    expect(verdicts.slice(0, 3)).toEqual(Array(3).fill('402 payment_required'))
    expect(verdicts[3]).toBe('429 rate_limit_exceeded')
  })
})
