import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { FREE_ROWS } from '../../../server/adapters/stores/libsql/driver/repeated-calls'
import type { RequestPage, UsageReport } from '../../../server/http/usage/record'
import { type Harness, openHarness, WIDE } from '../../support/harness'
import { auditRows, closeReconciled, keyBench, type Owner, read } from '../owner-bench'

let gateway: Harness
beforeAll(async () => {
  gateway = await openHarness()
})
afterAll(() => closeReconciled(gateway))

const SEARCH = '/apis/v1/websearch/images/search?q=card'

async function buyer(settings: Record<string, unknown> = {}) {
  const owner = await gateway.owner()
  const { id } = await read<{ id: `acct_${string}` }>(owner.api('/api/account'))
  await gateway.core.operator.setLimits({ kind: 'operator', id: 'test', address: null }, id, WIDE)
  const key = await keyBench(owner).create(settings)
  const log = () => read<RequestPage>(owner.api('/api/requests'))
  const rows = async () => {
    // A report waits for the tables.
    await log()
    return gateway.core.stores.db.all<{ n: number; counted: number }>(
      `SELECT count(*) AS n, sum(1 + repeats) AS counted FROM requests WHERE account_id = '${id}'` as never,
    )
  }
  const times = async (count: number, path = SEARCH) => {
    const statuses = new Set<number>()
    for (let i = 0; i < count; i++) statuses.add((await gateway.as(key.secret, path)).status)
    return [...statuses]
  }
  return { owner, id, ...key, rows, times, log }
}

const totalsOf = async (owner: Owner) =>
  (await read<UsageReport>(owner.api('/api/usage'))).totals as { requests: number; failed_requests: number }

describe('refusals before any work fill no disk (spec D4)', () => {
  test.each<[string, Record<string, unknown>, number]>([
    ['a used-up spending limit', { spending_limit: 0.000001 }, 402],
    ['an address that is not allowed', { allowed_ips: ['192.0.2.1'] }, 403],
    ['a rate limit', { rpm_limit: 1 }, 429],
  ])('of %s: the first of a minute is a row with its id, the others are counted on it', async (_, settings, status) => {
    const { owner, rows, times, log } = await buyer(settings)
    expect(await times(40)).toContain(status)
    const { requests } = await log()
    const refused = requests.filter((row) => row.status === status)
    expect(refused).toHaveLength(1)
    const served = status === 429 ? 1 : 0
    expect(refused[0]).toMatchObject({ repeats: 39 - served })
    expect(await read<{ id: string }>(owner.api(`/api/requests/${refused[0]?.id}`))).toMatchObject({
      repeats: 39 - served,
    })
    expect(await rows()).toEqual([{ n: 1 + served, counted: 40 }])
    expect(await totalsOf(owner)).toMatchObject({ requests: 40, failed_requests: 40 - served })
    gateway.clock.advance(60_000)
    await times(3)
    expect((await log()).requests.filter((row) => row.status === status)).toHaveLength(2)
  })

  test('of a disabled key: 401', async () => {
    const { owner, key, rows, times } = await buyer()
    await read(owner.api(`/api/keys/${key.id}/disable`, {}))
    expect(await times(20)).toEqual([401])
    expect(await rows()).toEqual([{ n: 1, counted: 20 }])
  })
})

test('an account leaves a bounded number of rows per minute by calls that cost nothing, whatever keys and codes it has', async () => {
  const { owner, rows, times } = await buyer()
  expect(await times(FREE_ROWS + 50, `${SEARCH}&count=0`)).toEqual([400])
  const other = await keyBench(owner).create()
  for (let i = 0; i < 5; i++) await gateway.as(other.secret, `${SEARCH}&count=0`)
  const [counted] = await rows()
  expect(counted).toEqual({ n: FREE_ROWS + 1, counted: FREE_ROWS + 55 })
  expect((await totalsOf(owner)).requests).toBe(FREE_ROWS + 55)
  // A paid call always has its row.
  expect(await times(3)).toEqual([200])
  expect((await rows())[0]?.n).toBe(FREE_ROWS + 4)
})

test('repeated changes of one field within a minute are one audit entry, with the first old and the last new value', async () => {
  const { owner, key, id } = await buyer({ note: 'first' })
  const change = (body: object) => read(owner.api(`/api/keys/${key.id}`, body, 'PATCH'))
  for (let i = 0; i < 20; i++) await change({ note: `note ${i}` })
  await change({ rpm_limit: 5 })
  await change({ note: 'last' })
  const entries = async () =>
    (await auditRows(gateway))
      .filter((row) => row.account_id === id && row.action === 'key.change')
      .map(({ detail, before }) => [JSON.parse(detail), JSON.parse(before ?? 'null')])
  expect(await entries()).toEqual([
    [{ note: 'last' }, { note: 'first' }],
    [{ rpmLimit: 5 }, { rpmLimit: null }],
  ])
  gateway.clock.advance(60_000)
  await change({ note: 'later' })
  expect((await entries()).at(-1)).toEqual([{ note: 'later' }, { note: 'last' }])
})
