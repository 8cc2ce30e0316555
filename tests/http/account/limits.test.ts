import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Harness, openHarness } from '../../support/harness'
import { callWith, closeReconciled, keyBench, type Owner, read } from '../owner-bench'

let gateway: Harness
let owner: Owner

beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
})
afterAll(() => closeReconciled(gateway))

describe('GET /api/limits', () => {
  test("shows the tier, its limits, and each live key's current windows (spec 8)", async () => {
    const keys = keyBench(owner)
    const wide = await keys.create({ name: 'wide' })
    const narrow = await keys.create({ name: 'narrow', rpm_limit: 10, tpm_limit: 100 })
    const revoked = await keys.create({ name: 'revoked' })
    await keys.move(revoked.key.id, 'revoke')
    for (let i = 0; i < 3; i++) expect(await callWith(gateway, narrow.secret)).toBe('200')
    const reset = (Math.floor(gateway.clock.now() / 60_000) + 1) * 60
    const key = (id: string, name: string, requests: [number, number], tokens: number) => ({
      id,
      name,
      requests: { limit: requests[0], remaining: requests[1], reset },
      tokens: { limit: tokens, remaining: tokens, reset },
      concurrency: { limit: 5, remaining: 5 },
    })
    const expected = (remaining: number) => ({
      tier: 'free',
      limits: { requests_per_minute: 60, tokens_per_minute: 60_000, concurrency: 5 },
      keys: [key(narrow.key.id, 'narrow', [10, remaining], 100), key(wide.key.id, 'wide', [60, 60], 60_000)],
      next_cursor: null,
    })
    expect(await read<unknown>(owner.api('/api/limits'))).toEqual(expected(7))
    expect(await read<unknown>(owner.api('/api/limits'))).toEqual(expected(7))
    gateway.clock.advance(60_000)
    const next = await read<{ keys: { requests: { remaining: number } }[] }>(owner.api('/api/limits'))
    expect(next.keys[0]?.requests.remaining).toBe(10)
  })

  test('has pages of keys, which a search and the id of a key narrow', async () => {
    const many = await gateway.owner()
    const keys = keyBench(many)
    const made = []
    for (const name of ['one', 'two', 'Twofold', 'three']) made.push((await keys.create({ name })).key)
    type Page = { keys: { id: string; name: string }[]; next_cursor: string | null }
    const page = async (query: string) => {
      const { keys: rows, next_cursor: next } = await read<Page>(many.api(`/api/limits?${query}`))
      return { names: rows.map(({ name }) => name), next }
    }
    const first = await page('limit=3')
    expect(first.names).toHaveLength(3)
    const rest = await page(`limit=3&cursor=${first.next}`)
    expect(rest.next).toBeNull()
    expect(new Set([...first.names, ...rest.names])).toEqual(new Set(['one', 'two', 'Twofold', 'three']))
    expect(new Set((await page('q=TWO')).names)).toEqual(new Set(['two', 'Twofold']))
    expect(await page(`key=${made[0]?.id}`)).toEqual({ names: ['one'], next: null })
    expect(await page('key=key_of_nobody')).toEqual({ names: [], next: null })
    expect((await many.api('/api/limits?cursor=nothing')).status).toBe(400)
    expect((await many.api('/api/limits?limit=0')).status).toBe(400)
  })

  test('matches the headers of a call', async () => {
    const { key, secret } = await keyBench(owner).create()
    const answer = await gateway.as(secret, '/v1/usage')
    const { keys } = await read<{ keys: { id: string; requests: unknown }[] }>(owner.api('/api/limits'))
    expect(keys.find((one) => one.id === key.id)?.requests).toEqual({
      limit: Number(answer.headers.get('x-ratelimit-limit-requests')),
      remaining: Number(answer.headers.get('x-ratelimit-remaining-requests')),
      reset: Number(answer.headers.get('x-ratelimit-reset-requests')),
    })
  })
})
