import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { operatorCommand } from '../../../server/cli/commands/operator'
import type { BookStatement } from '../../../server/http/operator/money/books-record'
import type { Revenue } from '../../../server/http/operator/money/revenue-record'
import { type Harness, openHarness } from '../../support/harness'
import { openOperatorConsole } from '../../support/operator-console'
import {
  type AccountBody,
  auditRows,
  callWith,
  closeReconciled,
  keyBench,
  type Owner,
  read,
  refusalOf,
} from '../owner-bench'

let gateway: Harness
let operator: Owner
let support: Owner
let owner: Owner
let id: string
let operatorConsole: ReturnType<typeof openOperatorConsole>
beforeAll(async () => {
  gateway = await openHarness()
  operator = await gateway.owner('root@example.com')
  owner = await gateway.owner('Grace.Hopper@example.com')
  support = await gateway.owner('support@example.com')
  const of = async (who: Owner) => (await read<AccountBody>(who.api('/api/account'))).id
  id = await of(owner)
  await read(operator.api(`/api/operator/accounts/${await of(support)}/role`, { role: 'support' }))
  const { secret } = await keyBench(owner).create()
  for (const _ of [1, 2, 3]) expect(await callWith(gateway, secret)).toBe('200')
  await read(operator.api(`/api/operator/accounts/${id}/grants`, { usd: '5', note: '=HYPERLINK("x")' }))
  await read(operator.api(`/api/operator/accounts/${id}/debits`, { usd: '1', note: 'Too much' }))
  operatorConsole = openOperatorConsole(gateway)
})
afterAll(async () => {
  await operatorConsole.close()
  await closeReconciled(gateway)
})

const printed = (...words: string[]) => operatorConsole.run(...words)
const monthOf = (at: number) => new Date(at).toISOString().slice(0, 7)
const lines = (csv: string) => csv.trimEnd().split('\r\n')

describe('the books of a month', () => {
  test('have a line for each ledger account and day, and last their total; the command prints the same', async () => {
    const month = monthOf(gateway.clock.now())
    const answer = await operator.api(`/api/operator/books.csv?month=${month}`)
    expect(answer.headers.get('content-disposition')).toContain(`books-${month}.csv`)
    const csv = await answer.text()
    expect(lines(csv)[0]).toBe('account,day_utc,opening_usd,debits_usd,credits_usd,closing_usd')
    expect(lines(csv)).toContain(`${id}/credit,open,0,1.015,7,5.985`)
    expect(lines(csv)).toContain('house/revenue,open,0,0,0.015,0.015')
    expect(lines(csv).at(-1)).toMatch(/^total,,0,([\d.]+),\1,0$/)
    expect(await printed('books', month)).toBe(csv)
    const next = new Date(gateway.clock.now())
    next.setUTCMonth(next.getUTCMonth() + 1, 15)
    const after = lines(await printed('books', monthOf(next.getTime())))
    expect(after).toContain(`${id}/credit,,5.985,0,0,5.985`)
    expect(after.at(-1)).toBe('total,,0,0,0,0')
  })

  test('list opening balances, every entry and closing balances that add up to zero where entries are asked for', async () => {
    const month = monthOf(gateway.clock.now())
    const answer = await operator.api(`/api/operator/books.csv?month=${month}&entries=true`)
    expect(answer.headers.get('content-disposition')).toContain(`books-${month}-entries.csv`)
    const csv = await answer.text()
    const [head = '', ...rows] = lines(csv)
    const at = (name: string) => head.split(',').indexOf(name)
    const cells = rows.map((row) => row.split(','))
    const of = (row: string) => cells.filter((cell) => cell[at('row')] === row)
    const [count] = await gateway.core.stores.db.all<{ total: number }>('SELECT count(*) AS total FROM entries')
    const total = count?.total ?? 0
    expect(of('opening').every((cell) => cell[at('amount_usd')] === '0')).toBe(true)
    expect(of('entry')).toHaveLength(total)
    const closing = Object.fromEntries(
      of('closing').map((cell) => [cell[at('account')], Number(cell[at('amount_usd')])]),
    )
    expect(closing).toMatchObject({ [`${id}/credit`]: 5.985, 'house/revenue': 0.015, 'house/grants': -4 })
    expect(rows.at(-1)).toBe(`total,${cells.at(-1)?.[1]},,,,,,,0,,${total} entries,`)
    expect(csv).toContain(`"'=HYPERLINK(""x"")"`)
    expect(await printed('books', month, '--entries')).toBe(csv)
    const row = (await auditRows(gateway)).findLast(({ action }) => action === 'books.export')
    expect(row).toMatchObject({ actor_kind: 'operator', actor_id: 'console' })
  })

  test('are not the only list of a command: accounts say who is staff, and who is suspended', async () => {
    await read(operator.api(`/api/operator/accounts/${id}/suspend`, { reason: 'A look.' }))
    const listed = await printed('list')
    await read(operator.api(`/api/operator/accounts/${id}/lift`, { reason: 'All is well.' }))
    for (const row of [
      /root@example.com +operator .* -$/m,
      /support@example.com +support .* -$/m,
      /hopper@example.com +- .* A look\.$/m,
    ])
      expect(listed).toMatch(row)
  })

  test('end quietly when the reader of the command closes its pipe', async () => {
    const closed = () => {
      throw Object.assign(new Error('broken pipe'), { code: 'EPIPE' })
    }
    expect(await operatorCommand(['books', monthOf(gateway.clock.now())], () => false, closed)).toBe('')
  })

  test('have a statement by ledger account and in total, as JSON, CSV and text', async () => {
    const month = monthOf(gateway.clock.now())
    const statement = await read<BookStatement>(operator.api(`/api/operator/statement?month=${month}`))
    const sum = (name: 'opening_micros_usd' | 'closing_micros_usd') =>
      statement.accounts.reduce((n, row) => n + row[name], 0)
    expect([sum('opening_micros_usd'), sum('closing_micros_usd')]).toEqual([0, 0])
    expect(statement.accounts).toContainEqual({
      account: 'house/revenue',
      opening_micros_usd: 0,
      debits_micros_usd: 0,
      credits_micros_usd: 15_000,
      closing_micros_usd: 15_000,
    })
    expect(statement.kinds).toContainEqual({ kind: 'charge', entries: 3, amount_micros_usd: 15_000 })
    expect(statement.owed_to_customers_micros_usd).toBe(9_985_000)
    const csv = await (await operator.api(`/api/operator/statement.csv?month=${month}`)).text()
    expect(lines(csv)).toContain(`${id}/credit,0,1.015,7,5.985`)
    expect(lines(csv).at(-1)).toMatch(/^total,0,([\d.]+),\1,0$/)
    expect(await printed('statement', month, '--csv')).toBe(csv)
    expect(JSON.parse(await printed('statement', month, '--json'))).toEqual(statement)
    expect(await printed('statement', month)).toMatch(/^owed to customers usd +9\.985$/m)
  })

  test('begin where those of the month before ended, in any time zone', async () => {
    const now = gateway.clock.now()
    const next = new Date(now)
    next.setUTCMonth(next.getUTCMonth() + 1, 15)
    const of = (query: string) => read<BookStatement>(operator.api(`/api/operator/statement?${query}`))
    const [one, two] = [await of(`month=${monthOf(now)}`), await of(`month=${monthOf(next.getTime())}`)]
    expect(two.from).toBe(one.to)
    const amounts = (statement: BookStatement, name: 'opening_micros_usd' | 'closing_micros_usd') =>
      statement.accounts.map((row) => [row.account, row[name]])
    expect(amounts(two, 'opening_micros_usd')).toEqual(amounts(one, 'closing_micros_usd'))
    expect(two.entries).toBe(0)
    expect((await of('month=2026-11&timezone=Europe/Berlin')).from).toBe('2026-10-31T23:00:00.000Z')
  })

  test('are refused to support, and for an invalid period; the command names it', async () => {
    for (const path of ['books.csv', 'statement', 'statement.csv']) {
      expect(await refusalOf(support.api(`/api/operator/${path}?month=2026-11`))).toMatchObject({ status: 403 })
      for (const query of [
        '',
        '?month=2026-13',
        '?month=11-2026',
        '?from=2026-11-01T00:00:00Z',
        '?month=2026-11&timezone=Mars',
      ])
        expect(await refusalOf(operator.api(`/api/operator/${path}${query}`))).toMatchObject({ status: 400 })
    }
    const backwards = 'from=2026-11-02T00:00:00Z&to=2026-11-01T00:00:00Z'
    expect((await refusalOf(operator.api(`/api/operator/books.csv?${backwards}`))).message).toContain('after from')
    expect(printed('books', '2026-13')).rejects.toThrow('month')
    expect(printed('books')).rejects.toThrow('name a month')
  })
})

describe('revenue', () => {
  const of = (query: string) => read<Revenue>(operator.api(`/api/operator/revenue${query}`))

  test('is the same by day, operation, model and account, less refunds, and the command prints it', async () => {
    const { requests } = await read<{ requests: { id: string }[] }>(owner.api('/api/requests?status=200'))
    await read(operator.api(`/api/operator/accounts/${id}/refunds`, { payment: requests[0]?.id, note: 'Sorry' }))
    const day = new Date(gateway.clock.now()).toISOString().slice(0, 10)
    const names = { day, operation: 'image-search', model: '', account: id }
    for (const [by, name] of Object.entries(names)) {
      const { rows, totals } = await of(`?group_by=${by}`)
      const sums = {
        calls: 3,
        charged_micros_usd: 15_000,
        refunded_micros_usd: 5_000,
        revenue_micros_usd: 10_000,
        // The cost of this provider is not configured, so no margin is shown.
        upstream_cost_micros_usd: 0,
        unknown_cost_calls: 3,
        margin_micros_usd: null,
      }
      expect(rows).toEqual([{ name, email: by === 'account' ? 'grace.hopper@example.com' : null, ...sums }])
      expect(totals).toEqual(sums)
      const csv = await (await operator.api(`/api/operator/revenue.csv?group_by=${by}`)).text()
      expect(lines(csv)[1]).toBe(`${name},3,0.015,0.005,0.01,0,3,`)
      expect(await printed('revenue', '--by', by, '--csv')).toBe(csv)
    }
    expect(await printed('revenue', '--by', 'operation')).toContain('image-search')
    expect((await of('?to=2026-01-01')).totals.calls).toBe(0)
  })

  test('by rail shows what signup credit bought, what was given away and what is owed to customers', async () => {
    const report = await of('?group_by=rail')
    expect(report.rows).toMatchObject([{ name: 'balance/credit', calls: 3, revenue_micros_usd: 10_000 }])
    expect(report).toMatchObject({
      credit: {
        signup_credit_given_micros_usd: 6_000_000,
        grants_given_micros_usd: 5_000_000,
        debited_micros_usd: 1_000_000,
        used_micros_usd: 10_000,
      },
      overruns_micros_usd: 0,
      owed_to_customers_micros_usd: 9_990_000,
    })
    expect((await of('?to=2026-01-01')).owed_to_customers_micros_usd).toBe(0)
    expect(JSON.parse(await printed('revenue', '--by', 'rail', '--json'))).toEqual(report)
  })

  test('is refused to support, and for invalid days', async () => {
    expect(await refusalOf(support.api('/api/operator/revenue'))).toMatchObject({ status: 403 })
    for (const query of ['?from=2026-02-30', '?from=yesterday', '?from=2026-11-02&to=2026-11-01', '?group_by=weather'])
      expect(await refusalOf(operator.api(`/api/operator/revenue${query}`))).toMatchObject({ status: 400 })
  })
})

test('a comparison is printed, and the last ones with --history', async () => {
  const compared = await printed('reconcile')
  expect(compared).toMatch(/^problems +0$/m)
  expect(compared).toMatch(/^ledger +none\nmissing +none$/m)
  const history = await printed('reconcile', '--history')
  expect(history).toMatch(/console .* no +yes +0$/m)
  expect(JSON.parse(await printed('reconcile', '--history', '--json'))).toMatchObject({ runs: [{ problems: 0 }] })
  await expect(printed('reconcile', 'now')).rejects.toThrow('takes options only')
})
