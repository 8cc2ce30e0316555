import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { createClient } from '@libsql/client'
import { sql } from 'drizzle-orm'
import { TABLE_HOMES, type TableHome } from '../../server/adapters/stores/libsql/schema/homes'
import { type AccountBody, callWith, keyBench, type Owner, read } from '../http/owner/bench'
import { type Harness, openHarness } from '../support/harness'
import { reconcile } from '../support/reconcile'

/** A gateway whose accounts are in another database than everything else, as with several cells (ADR 45). */
describe('with the accounts in a database of their own', () => {
  let gateway: Harness
  let operator: Owner
  let owner: Owner
  let ownerId: string
  beforeAll(async () => {
    gateway = await openHarness({ apart: true })
    operator = await gateway.owner('root@example.com')
    owner = await gateway.owner('ada@example.com')
    ownerId = (await accountOf(owner)).id
  })
  afterAll(async () => {
    await gateway.close()
  })

  const accountOf = (of: Owner) => read<AccountBody>(of.api('/api/account'))
  const customer = (path: string, body?: unknown) => operator.api(`/api/operator/accounts/${ownerId}${path}`, body)
  const auditOf = async (path: string) =>
    (await read<{ entries: { action: string }[] }>(operator.api(path))).entries.map(({ action }) => action)

  test('an owner signs up, calls are charged, a price and a role apply to the next request', async () => {
    expect([(await accountOf(operator)).operator, (await accountOf(owner)).operator]).toEqual([true, false])
    const { secret } = await keyBench(owner).create()
    expect(await callWith(gateway, secret)).toBe('200')
    const before = (await accountOf(owner)).balance_micros_usd
    expect(before).toBeLessThan(2_000_000)
    await read(customer('/grants', { usd: '5', note: 'test', reference: 'one' }))
    expect((await accountOf(owner)).balance_micros_usd).toBe(before + 5_000_000)
    await read(customer('/role', { role: 'support' }))
    expect((await owner.api('/api/operator/accounts')).status).toBe(200)
    await read(customer('/role', { role: null }))
    expect((await owner.api('/api/operator/accounts')).status).toBe(403)
  })

  test('operators read one audit log, newest first and in pages, whichever database an entry is in', async () => {
    const expected = ['account.role', 'account.role', 'account.grant', 'key.create', 'account.open']
    expect(await auditOf(`/api/operator/audit?account=${ownerId}`)).toEqual(expected)
    const paged: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query: string = `account=${ownerId}&limit=2${cursor && `&cursor=${cursor}`}`
      const page = await read<{ entries: { action: string }[]; next_cursor: string | null }>(
        operator.api(`/api/operator/audit?${query}`),
      )
      paged.push(...page.entries.map(({ action }) => action))
      cursor = page.next_cursor
    }
    expect(paged).toEqual(expected)
  })

  test("operators' webhooks get events of the gateway, and only while they are operators", async () => {
    const { webhooks, directory } = gateway.core.stores
    const { id } = await accountOf(operator)
    expect(directory.withRole('operator')).toEqual([id as 'acct_'])
    await read(operator.api('/api/webhooks', { url: 'https://example.com/hook', events: ['operation.overrun'] }), 201)
    expect(await webhooks.receivers([])).toMatchObject([{ accountId: id, operator: true }])
  })

  test('an event that the control database causes is sent by the cell, once', async () => {
    const { db, controlDb, controlEvents } = gateway.core.stores
    const { id } = await accountOf(operator)
    await controlDb.run(
      sql`INSERT INTO api_closings (operation, account_id, price_version, at) VALUES ('shop.buy', ${ownerId}, 'price_1', 1)`,
    )
    const [event] = (await controlEvents?.waiting(9)) ?? []
    if (!event) throw new Error('a closing causes an event')
    const { seq: _, ...moved } = event
    expect(moved).toMatchObject({ type: 'operation.overrun', accountId: null })
    // Moved before a crash, which came before the note of it.
    await gateway.core.stores.webhooks.addEvents([moved])
    await gateway.gateway.eventMoves?.run()
    expect(await controlEvents?.waiting(9)).toEqual([])
    await gateway.gateway.delivering.run()
    const sent = sql`SELECT w.account_id AS id, d.event_id AS event FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id`
    expect(await db.all<unknown>(sent)).toEqual([{ id, event: event.id }])
  })

  test('old entries and events are removed in both databases', async () => {
    const { db, controlDb, retention } = gateway.core.stores
    const left = async () =>
      Promise.all(
        [db, controlDb].flatMap((one) =>
          ['audit_log', 'events WHERE dispatched'].map(async (from) => {
            const [row] = await one.all<{ n: number }>(sql.raw(`SELECT count(*) AS n FROM ${from}`))
            return row?.n
          }),
        ),
      )
    expect((await left()).every((n) => n !== 0)).toBe(true)
    const until = gateway.clock.now() + 1
    for (const table of ['audit_log', 'events', 'requests', 'webhook_deliveries'] as const)
      while (await retention.prune(table, until, 2));
    expect(await left()).toEqual([0, 0, 0, 0])
  })

  test('everything is there after a restart, and each table has rows only where it belongs', async () => {
    const { folder } = gateway
    const balance = (await accountOf(owner)).balance_micros_usd
    await gateway.close(true)
    expect((await reconcile(gateway.databaseFile)).problems).toEqual([])
    expect(await foreignRows(join(folder, 'gateway.db'), 'cell')).toEqual([])
    expect(await foreignRows(gateway.databaseFile, 'control')).toEqual([])
    gateway = await openHarness({ apart: true, folder })
    operator = await gateway.signIn('root@example.com')
    owner = await gateway.signIn('ada@example.com')
    expect((await accountOf(operator)).operator).toBe(true)
    expect((await accountOf(owner)).balance_micros_usd).toBe(balance)
  })
})

/** The tables of that home which have rows in a database. */
async function foreignRows(file: string, home: TableHome): Promise<string[]> {
  const client = createClient({ url: `file:${file}`, concurrency: 1 })
  const found: string[] = []
  for (const [table, its] of Object.entries(TABLE_HOMES)) {
    if (its !== home) continue
    const { rows } = await client.execute(`SELECT count(*) AS count FROM ${table}`)
    if (Number(rows[0]?.['count']) > 0) found.push(table)
  }
  client.close()
  return found
}
