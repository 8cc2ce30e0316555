import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { KEY_DOCS } from '../../../server/http/keys/docs'
import type { DisabledKeys, KeyPage } from '../../../server/http/keys/record'
import type { UsageReport } from '../../../server/http/usage/record'
import { type Harness, openHarness } from '../../support/harness'
import {
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type MadeKey,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let gateway: Harness
let owner: Owner
let keys: ReturnType<typeof keyBench>
let shop: MadeKey
let search: MadeKey
let plain: MadeKey

/** The shop calls twice, the search once, the plain key once: 5,000 millionths each. */
beforeAll(async () => {
  gateway = await openHarness()
  owner = await gateway.owner()
  keys = keyBench(owner)
  shop = await keys.create({ name: 'shop', tags: [' production ', 'team a', 'production'] })
  search = await keys.create({ name: 'search', tags: ['production'], note: '=1+1' })
  plain = await keys.create({ name: 'plain' })
  for (const { secret } of [shop, shop, search, plain]) expect(await callWith(gateway, secret)).toBe('200')
  await gateway.core.stores.journal.drained()
})
afterAll(() => closeReconciled(gateway))

const list = (query: string) => read<KeyPage>(owner.api(`/api/keys${query}`))
const usage = (query: string) => read<UsageReport>(owner.api(`/api/usage${query}`))
const disable = (ids: readonly string[], who = owner) => who.api('/api/keys/disable', { ids })

describe('tags of keys', () => {
  test('are trimmed, each once; they filter the list and its counts, and are counted over all keys', async () => {
    expect(shop.key.tags).toEqual(['production', 'team a'])
    const page = await list('?tag=production&sort=name&order=asc')
    expect(page.keys.map(({ name }) => name)).toEqual(['search', 'shop'])
    expect(page.counts.active).toBe(2)
    const all = [
      { name: 'production', keys: 2 },
      { name: 'team a', keys: 1 },
    ]
    expect(page.tags).toEqual(all)
    expect((await list('?tag=prod')).keys).toEqual([])
    expect((await list(`?tag=team%20a&q=shop`)).keys).toHaveLength(1)
  })

  test('are the same in every normal form of Unicode, also in a filter', async () => {
    const { key } = await keys.create({ tags: ['caf\u00e9', 'cafe\u0301'] })
    expect(key.tags).toEqual(['caf\u00e9'])
    for (const tag of ['caf%C3%A9', 'cafe%CC%81']) {
      expect((await list(`?tag=${tag}`)).keys.map(({ id }) => id)).toEqual([key.id])
      expect((await usage(`?tag=${tag}`)).totals.requests).toBe(0)
    }
    await keys.move(key.id, 'revoke')
  })

  test('are kept by a rotation, and a change of them is in the history', async () => {
    const { key } = await keys.create({ tags: ['old'] })
    await keys.change(key.id, { tags: ['new'] })
    expect((await keys.rotate(key.id)).key.tags).toEqual(['new'])
    const rows = (await auditRows(gateway)).filter((row) => row.key_id === key.id && row.action === 'key.change')
    expect(rows.map(({ detail, before }) => [detail, before])).toEqual([['{"tags":["new"]}', '{"tags":["old"]}']])
  })

  test('group usage: a key counts in each of its tags, and what has no tag in the group without a name', async () => {
    const { groups, totals } = await usage('?group_by=tag')
    expect(groups?.map(({ name, requests, charged_micros_usd }) => [name, requests, charged_micros_usd])).toEqual([
      ['production', 3, 15_000],
      ['team a', 2, 10_000],
      ['', 1, 5_000],
    ])
    expect(groups?.every(({ group_by }) => group_by === 'tag')).toBe(true)
    expect(totals.charged_micros_usd).toBe(20_000)
  })

  test.each(['1d', '1m'])(
    'narrow usage in buckets of %s, its latencies, the request log and its file',
    async (width) => {
      const report = await usage(`?tag=production&group_by=key&bucket_width=${width}`)
      expect([report.totals.requests, report.latency?.calls]).toEqual([3, 3])
      expect(report.groups?.map(({ name }) => name)).toEqual([shop.key.id, search.key.id])
      expect((await usage(`?tag=nobody&bucket_width=${width}`)).totals.requests).toBe(0)
      expect((await usage(`?tag=production&key=${plain.key.id}`)).totals.requests).toBe(0)
      const log = await read<{ requests: { key_id: string }[] }>(owner.api('/api/requests?tag=team%20a'))
      expect(log.requests.map(({ key_id }) => key_id)).toEqual([shop.key.id, shop.key.id])
      const file = await (await owner.api('/api/usage.csv?tag=team%20a')).text()
      expect(file.trimEnd().split('\r\n')).toHaveLength(3)
    },
  )
})

describe('GET /api/keys.csv', () => {
  test('has the keys of the filter, in the order of the list, and no cell that a spreadsheet would run', async () => {
    const answer = await owner.api('/api/keys.csv?tag=production&sort=name&order=asc')
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="keys.csv"')
    const [head = '', ...lines] = (await answer.text()).trimEnd().split('\r\n')
    expect(KEY_DOCS.csv.answers[200].examples.file).toStartWith(`${head}\r\n`)
    // A setting without a column of its own is appended under its own name.
    expect(head).toEndWith(',replaces,replaced_by,pinned_operations,budgets,scope_budget')
    expect(lines.map((line) => line.split(',')[1])).toEqual(['search', 'shop'])
    expect(lines[0]).toContain(",production,'=1+1,")
    expect(lines[1]).toContain(',"production, team a",')
    expect(lines[1]).toContain(',0.01,')
    expect(lines.join()).not.toContain(shop.secret.slice(8, -4))
    expect((await refusalOf(owner.api('/api/keys.csv?status=lost'))).code).toBe('invalid_parameter')
  })
})

describe('POST /api/keys/disable', () => {
  test('binds the very next request of each key, writes one entry for each, and tells which could not be', async () => {
    const own = await Promise.all(Array.from({ length: 5 }, () => keys.create()))
    const foreign = await keyBench(await gateway.owner()).create()
    const [revoked, before, ...rest] = own.map(({ key }) => key.id)
    if (!revoked || !before) throw new Error('no keys')
    await keys.move(revoked, 'revoke')
    await keys.move(before, 'disable')
    const written = (await auditRows(gateway)).length
    const { results } = await read<DisabledKeys>(disable([revoked, before, ...rest, ...rest, foreign.key.id, 'x']))
    const refused = (id: string, code: string) => ({
      id,
      disabled: false,
      error: { code, message: expect.any(String) },
    })
    expect(results).toEqual([
      refused(revoked, 'invalid_state'),
      ...[before, ...rest].map((id) => ({ id, disabled: true, error: null })),
      refused(foreign.key.id, 'resource_not_found'),
      refused('x', 'resource_not_found'),
    ])
    const answers = await Promise.all(own.slice(1).map(({ secret }) => callWith(gateway, secret)))
    expect(new Set(answers)).toEqual(new Set(['401 api_key_disabled']))
    expect(await callWith(gateway, foreign.secret)).toBe('200')
    const rows = (await auditRows(gateway)).slice(written)
    expect(rows.map(({ action, key_id }) => [action, key_id])).toEqual(rest.map((id) => ['key.disable', id]))
    expect(rows.every((row) => row.before === '{"state":"active"}')).toBe(true)
  })

  test('is in the database when it is confirmed, and enabling one brings back only that one', async () => {
    const [one, two] = [await keys.create(), await keys.create()]
    await read(disable([one.key.id, two.key.id]))
    await keys.move(one.key.id, 'enable')
    expect([await callWith(gateway, one.secret), await callWith(gateway, two.secret)]).toEqual([
      '200',
      '401 api_key_disabled',
    ])
    const stored = await gateway.core.stores.db.all<{ id: string }>(
      `SELECT id FROM keys WHERE disabled_at IS NOT NULL AND id IN ('${one.key.id}', '${two.key.id}')` as never,
    )
    expect(stored.map(({ id }) => id)).toEqual([two.key.id])
  })

  test('refuses a body without ids, or with more than an account can have, without a change', async () => {
    const written = (await auditRows(gateway)).length
    for (const ids of [[], 'x', [5], Array.from({ length: 1001 }, (_, i) => `key_${i}`)])
      expect(await refusalOf(owner.api('/api/keys/disable', { ids }))).toMatchObject({ status: 400, param: 'ids' })
    expect(await auditRows(gateway)).toHaveLength(written)
  })
})
