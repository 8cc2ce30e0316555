import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { auditRows, callWith, closeReconciled, keyBench, type Owner, refusalOf } from '../owner-bench'

let gateway: Harness
let owner: Owner
let keys: ReturnType<typeof keyBench>

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  keys = keyBench(owner)
})
afterAll(() => closeReconciled(gateway))

const inFuture = (ms: number) => new Date(gateway.clock.now() + ms).toISOString()

describe('disable, enable and revoke', () => {
  test('apply to the next call (spec 3, spec D3)', async () => {
    const { key, secret } = await keys.create()
    expect(await callWith(gateway, secret)).toBe('200')
    expect((await keys.move(key.id, 'disable')).status).toBe('disabled')
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    expect((await keys.move(key.id, 'enable')).status).toBe('active')
    expect(await callWith(gateway, secret)).toBe('200')
    expect((await keys.move(key.id, 'revoke')).status).toBe('revoked')
    expect(await callWith(gateway, secret)).toBe('401 invalid_api_key')
  })

  test('can be repeated, and a repeat that changes nothing adds no audit row', async () => {
    const { key } = await keys.create()
    for (const action of ['enable', 'disable', 'disable', 'enable', 'enable', 'revoke', 'revoke'] as const)
      await keys.move(key.id, action)
    const actions = (await auditRows(gateway)).filter((row) => row.key_id === key.id).map((row) => row.action)
    expect(actions).toEqual(['key.create', 'key.disable', 'key.enable', 'key.revoke'])
  })

  test.each(['disable', 'enable'] as const)('revoked is final: %s is 409 invalid_state', async (action) => {
    const { key } = await keys.create()
    await keys.move(key.id, 'revoke')
    expect(await refusalOf(owner.api(`/api/keys/${key.id}/${action}`, undefined, 'POST'))).toMatchObject({
      status: 409,
      type: 'invalid_request_error',
      code: 'invalid_state',
    })
    expect((await keys.get(key.id)).status).toBe('revoked')
  })

  test('revoking keeps the usage history', async () => {
    const { key, secret } = await keys.create()
    expect(await callWith(gateway, secret)).toBe('200')
    await keys.move(key.id, 'revoke')
    const answer = await owner.api(`/api/requests?key=${key.id}`)
    const { requests } = (await answer.json()) as { requests: unknown[] }
    expect(requests).toMatchObject([{ key_id: key.id, cost_micros_usd: 5_000 }])
    expect((await keys.get(key.id)).spent_micros_usd).toBe(5_000)
  })
})

describe('the status', () => {
  test('is computed: revoked before disabled before expired before exhausted before active (spec 2.1, 3)', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.005, expires_at: inFuture(1_000) })
    expect(await callWith(gateway, secret)).toBe('200')
    const seen = [(await keys.get(key.id)).status]
    gateway.clock.advance(1_000)
    seen.push((await keys.get(key.id)).status)
    seen.push((await keys.move(key.id, 'disable')).status)
    expect(await callWith(gateway, secret)).toBe('401 api_key_disabled')
    seen.push((await keys.move(key.id, 'enable')).status)
    expect(await callWith(gateway, secret)).toBe('401 expired_api_key')
    seen.push((await keys.change(key.id, { expires_at: null })).status)
    expect(await callWith(gateway, secret)).toBe('402 insufficient_api_key_balance')
    seen.push((await keys.change(key.id, { spending_limit: null })).status)
    await keys.move(key.id, 'disable')
    seen.push((await keys.move(key.id, 'revoke')).status)
    expect(seen).toEqual(['exhausted', 'expired', 'disabled', 'expired', 'exhausted', 'active', 'revoked'])
  })

  test('filters the list, and revoked keys are listed only on request', async () => {
    const lister = await gateway.owner()
    const own = keyBench(lister)
    const made = {
      active: await own.create(),
      disabled: await own.create(),
      expired: await own.create({ expires_at: inFuture(500) }),
      exhausted: await own.create({ spending_limit: 0.005 }),
      revoked: await own.create(),
    }
    await own.move(made.disabled.key.id, 'disable')
    await own.move(made.revoked.key.id, 'revoke')
    expect(await callWith(gateway, made.exhausted.secret)).toBe('200')
    gateway.clock.advance(500)
    for (const [status, { key }] of Object.entries(made)) {
      const listed = await own.list(`?status=${status}`)
      expect(listed.keys.map((one) => [one.id, one.status])).toEqual([[key.id, status]])
    }
    const all = await own.list()
    expect(all.keys.map((one) => one.status)).toEqual(['exhausted', 'expired', 'disabled', 'active'])
    expect(all.keys[0]).toEqual(await own.get(made.exhausted.key.id))
    expect(await refusalOf(lister.api('/api/keys?status=alive'))).toMatchObject({ status: 400, param: 'status' })
  })

  test('lists a replaced key as revoked once its grace period ends', async () => {
    const { key } = await keys.create()
    await keys.rotate(key.id, { grace_period_seconds: 5 })
    const listed = async (query: string) => (await keys.list(query)).keys.some((one) => one.id === key.id)
    expect([await listed(''), await listed('?status=revoked')]).toEqual([true, false])
    gateway.clock.advance(5_000)
    expect([await listed(''), await listed('?status=revoked')]).toEqual([false, true])
  })
})

describe('the list', () => {
  let lister: Owner
  let ids: string[] = []

  beforeAll(async () => {
    lister = await gateway.owner()
    const own = keyBench(lister)
    for (let i = 0; i < 51; i++) ids.push((await own.create()).key.id)
    ids = ids.reverse()
  })

  /** All ids, page by page, and how long the pages were. */
  async function walk(query: string): Promise<{ seen: string[]; pages: number[] }> {
    const own = keyBench(lister)
    const seen: string[] = []
    const pages: number[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await own.list(`?${query}${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.keys.map((key) => key.id))
      pages.push(page.keys.length)
      cursor = page.next_cursor
    }
    return { seen, pages }
  }

  test('is newest first, 50 to a page by default, without gaps or repeats at equal times', async () => {
    expect(await walk('')).toEqual({ seen: ids, pages: [50, 1] })
  })

  test('continues after its cursor, even when a key was created in between', async () => {
    const own = keyBench(lister)
    const first = await own.list('?limit=10')
    const { key } = await own.create()
    const second = await own.list(`?limit=10&cursor=${first.next_cursor}`)
    expect(second.keys.map((one) => one.id)).toEqual(ids.slice(10, 20))
    await own.move(key.id, 'revoke')
  })

  test.each([
    ['limit=0', 'limit'],
    ['limit=201', 'limit'],
    ['limit=ten', 'limit'],
    ['limit=1&limit=2', 'limit'],
    ['limit=', 'limit'],
    ['cursor=nonsense', 'cursor'],
    ['cursor=', 'cursor'],
  ])('refuses %s', async (query, param) => {
    expect(await refusalOf(lister.api(`/api/keys?${query}`))).toMatchObject({ status: 400, param })
  })

  test("refuses another account's key as a cursor", async () => {
    const { key } = await keys.create()
    expect(await refusalOf(lister.api(`/api/keys?cursor=${key.id}`))).toMatchObject({ status: 400, param: 'cursor' })
  })

  test('names every wrong parameter at once', async () => {
    const { details = [] } = await refusalOf(lister.api('/api/keys?limit=0&status=alive'))
    expect(details.map((detail) => detail.param)).toEqual(['limit', 'status'])
  })
})

describe('last_used_at', () => {
  test('is when the key last called, also without success', async () => {
    const { key, secret } = await keys.create()
    expect((await keys.get(key.id)).last_used_at).toBeNull()
    for (const path of [undefined, '/v1/usage', '/apis/v1/websearch/images/search']) {
      gateway.clock.advance(1_234)
      await callWith(gateway, secret, path)
      expect((await keys.get(key.id)).last_used_at).toBe(new Date(gateway.clock.now()).toISOString())
    }
    const used = new Date(gateway.clock.now()).toISOString()
    await keys.move(key.id, 'revoke')
    gateway.clock.advance(1_000)
    await callWith(gateway, secret)
    expect((await keys.get(key.id)).last_used_at).toBe(used)
  })
})

describe('after a restart', () => {
  test('every key is unchanged, and its limit still counts what was spent', async () => {
    const { key, secret } = await keys.create({ spending_limit: 0.01, allowed_ips: ['127.0.0.1'] })
    expect(await callWith(gateway, secret)).toBe('200')
    const next = await keys.rotate(key.id)
    const { key: off } = await keys.create({ budget: { limit_usd: 1, period: 'day', timezone: 'UTC' } })
    const disabled = await keys.move(off.id, 'disable')
    const before = [await keys.get(key.id), await keys.get(next.key.id), disabled]
    await gateway.close(true)
    const { clock } = gateway
    gateway = await openHarness({ folder: gateway.folder })
    gateway.clock.advance(clock.now() - gateway.clock.now())
    const api = (path: string) => gateway.call(path, { headers: { cookie: owner.cookie } })
    for (const was of before) expect(await (await api(`/api/keys/${was.id}`)).json()).toEqual({ key: was })
    expect(await callWith(gateway, secret)).toBe('200')
    expect(await callWith(gateway, next.secret)).toBe('402 insufficient_api_key_balance')
  })
})
