import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { TABLE_HOMES, type TableHome } from '../../server/adapters/stores/libsql/schema/homes'
import { type AccountBody, callWith, keyBench, type Owner, read } from '../http/owner-bench'
import { C2, type Cells, openCells } from '../support/cluster/cells'
import { openFile } from '../support/databases/database-file'
import type { Harness } from '../support/harness'
import { newClaim } from '../support/payments/payment-claim'
import { reconcile } from '../support/reconcile'
import { confirmWebhook } from '../support/webhooks'

type CellOwner = Awaited<ReturnType<Cells['owner']>>

/** The gateways of two cells at once: `main`, which owns the control database, and `c2`, whose accounts are in a database of their own (ADR 52). */
describe('with accounts in two cells', () => {
  let cells: Cells
  /** An operator in `main`, owners in both cells. */
  let operator: CellOwner
  let ada: CellOwner
  let bob: CellOwner
  beforeAll(async () => {
    cells = await openCells()
    operator = await cells.owner('root@example.com')
    ada = await cells.owner('ada@example.com')
    bob = await cells.owner('bob@example.com')
  })
  afterAll(() => cells.close())

  const accountOf = (of: Pick<Owner, 'api'>) => read<AccountBody>(of.api('/api/account'))
  const secretOf = async (of: CellOwner) => (await keyBench(of).create()).secret
  const home = (of: CellOwner): Harness => cells.gatewayOf(of.cell)
  const rows = async (of: Harness, query: string) => (await of.core.stores.db.all<unknown>(sql.raw(query))).length

  test('a gateway counts what has not ended in its own cell', async () => {
    const before = await cells.main.gateway.load()
    const { db } = cells.c2.core.stores
    await db.run(sql`INSERT INTO kept_holds (id, hold, call) VALUES ('req_kept', '{}', '{}')`)
    await cells.c2.core.stores.paymentClaims.take(newClaim(), cells.clock.now())
    expect(await cells.c2.gateway.load()).toMatchObject({
      ...{ longCalls: 0, keptHolds: 1, unfinishedPayments: 1, stuckRecords: 0, commitWaitMs: 0 },
      databaseMs: expect.any(Number),
    })
    expect(await cells.main.gateway.load()).toMatchObject({ ...before, databaseMs: expect.any(Number) })
    await db.run(sql`DELETE FROM kept_holds`)
    await db.run(sql`DELETE FROM payments`)
  })

  test('request bodies of both cells share the memory that the process allows for them', async () => {
    const create = async (of: CellOwner) => (await of.api('/api/keys', { name: 'New' })).status
    const statuses = () => Promise.all([ada, bob].map(create))
    // One account or address gets a part of it.
    const uploads = Array.from({ length: 1_000 }, (_, i) => cells.bodies.share(`address ${i}`))
    for (let bytes = 2 ** 20; bytes >= 1; bytes /= 2) for (const upload of uploads) while (upload.take(bytes) === null);
    expect(await statuses()).toEqual([503, 503])
    for (const upload of uploads) upload.giveBack()
    expect(await statuses()).toEqual([201, 201])
  })

  test('accounts are divided, and each is opened in its own cell alone', async () => {
    expect([operator.cell, ada.cell, bob.cell]).toEqual(['main', C2, 'main'])
    for (const one of [operator, ada, bob]) {
      expect((await accountOf(one)).credit_micros_usd).toBe(2_000_000)
      const other = cells.gatewayOf(one.cell === C2 ? 'main' : C2)
      expect(await other.core.accounts.byUser(one.userId)).toBeNull()
    }
    expect((await accountOf(operator)).operator).toBe(true)
  })

  test('calls of both cells are charged, and a price that main changes applies to the next call in both', async () => {
    const [inMain, inC2] = [await secretOf(bob), await secretOf(ada)]
    const spent = async (of: CellOwner, secret: string) => {
      const before = (await accountOf(of)).balance_micros_usd
      expect(await callWith(home(of), secret)).toBe('200')
      return before - (await accountOf(of)).balance_micros_usd
    }
    const usual = await spent(bob, inMain)
    expect(usual).toBeGreaterThan(0)
    expect(await spent(ada, inC2)).toBe(usual)
    const set = await cells.main.control('price', { operation: 'image-search', usd: '0.5' })
    expect(`${set.status} ${await set.text()}`).toStartWith('200 ')
    expect([await spent(ada, inC2), await spent(bob, inMain)]).toEqual([500_000, 500_000])
  })

  test('a role that is given in one cell is known in the other at the next request', async () => {
    const { stores } = cells.main.core
    const account = await cells.c2.core.accounts.byUser(ada.userId)
    if (!account) throw new Error('no account')
    expect((await ada.api('/api/operator/accounts')).status).toBe(403)
    const actor = { kind: 'operator', id: 'test', address: null } as const
    await cells.c2.core.operator.setRole(actor, account.id, 'operator')
    expect(stores.directory.withRole('operator')).toContain(account.id)
    expect((await ada.api('/api/operator/accounts')).status).toBe(200)
    // Not the last one: the other operator is in main.
    const left = await cells.c2.core.operator.setRole(actor, account.id, null)
    expect(left.ok).toBe(true)
    expect(stores.directory.withRole('operator')).not.toContain(account.id)
  })

  test('of two operators in two cells who leave at the same time one stays', async () => {
    const actor = { kind: 'operator', id: 'test', address: null } as const
    const gateways = [operator, ada].map(home)
    const ids = await Promise.all([operator, ada].map(async (one) => (await accountOf(one)).id as 'acct_'))
    await cells.c2.core.operator.setRole(actor, ids[1] ?? 'acct_', 'operator')
    const { promise: bothAsked, resolve } = Promise.withResolvers<void>()
    let asked = 0
    const undo = gateways.map(({ core: { stores } }) => {
      const asks = stores.directory.hasOperatorBeside.bind(stores.directory)
      stores.directory.hasOperatorBeside = async (account) => {
        const answer = await asks(account)
        if (++asked === gateways.length) resolve()
        await bothAsked
        return answer
      }
      return () => (stores.directory.hasOperatorBeside = asks)
    })
    await Promise.all(gateways.map(({ core }, i) => core.operator.setRole(actor, ids[i] ?? 'acct_', null)))
    for (const each of undo) each()
    const { directory } = cells.main.core.stores
    expect(directory.withRole('operator').length).toBeGreaterThan(0)
    await cells.main.core.operator.setRole(actor, ids[0] ?? 'acct_', 'operator')
    await cells.c2.core.operator.setRole(actor, ids[1] ?? 'acct_', null)
    expect(directory.withRole('operator')).toEqual([ids[0] ?? 'acct_'])
  })

  test('three accounts of two cells close an operation to all of them', async () => {
    const { apiClosings: there } = cells.c2.core
    const { apiClosings: here } = cells.main.core
    const operation = { name: 'shop.buy', id: 'buy', priceVersion: 'price_1' } as unknown as Parameters<
      typeof here.close
    >[0]
    await there.close(operation, 'acct_1' as 'acct_', 1)
    await there.close(operation, 'acct_2' as 'acct_', 2)
    expect([here.isClosed(operation, 'acct_1' as 'acct_'), here.isClosedToAll(operation)]).toEqual([true, false])
    await here.close(operation, 'acct_3' as 'acct_', 3)
    expect([here.isClosedToAll(operation), there.isClosedToAll(operation)]).toEqual([true, true])
  })

  test('what only main changes cannot be written by the gateway of another cell', async () => {
    const actor = { kind: 'operator', id: 'test', address: null } as const
    const priced = cells.c2.core.operator.setPrice(actor, 'image-search', null, null)
    await expect(priced).rejects.toThrow('only the owner of the control database writes the table prices')
  })

  test('a session that ends at main has ended in the cell of its account', async () => {
    const session = await cells.signIn('ada@example.com')
    expect((await session.api('/api/account')).status).toBe(200)
    const { id } = await accountOf(session)
    const watcher = cells.c2.core.events.watch(id as 'acct_')
    expect((await session.atMain('/api/auth/sign-out', {})).status).toBe(200)
    expect((await session.api('/api/account')).status).toBe(401)
    expect(await watcher?.take(1000)).toMatchObject([{ type: 'session' }])
  })

  test('the one-time token that main printed makes an owner in another cell the operator, once', async () => {
    const token = cells.main.gateway.setupToken.issue()
    expect((await ada.api('/api/account/operator', { token: `${token}x` })).status).toBe(403)
    cells.unreachable = true
    expect((await ada.api('/api/account/operator', { token })).status).toBe(503)
    cells.unreachable = false
    await read(ada.api('/api/account/operator', { token }))
    expect((await accountOf(ada)).operator).toBe(true)
    expect((await bob.api('/api/account/operator', { token })).status).toBe(403)
    await cells.c2.core.operator.setRole(
      { kind: 'operator', id: 'test', address: null },
      (await accountOf(ada)).id as 'acct_',
      null,
    )
  })

  test("operators' webhooks get what happens in any cell, once, and owners what main knows of them", async () => {
    const { main, c2 } = cells
    const create = async (cell: Harness, of: typeof ada, url: string, event: string) => {
      const { webhook } = await read<{ webhook: { id: string } }>(
        of.api('/api/webhooks', { url, events: [event] }),
        201,
      )
      await confirmWebhook(cell, of, webhook.id)
    }
    await create(main, operator, 'https://example.com/root', 'operation.overrun')
    await create(c2, ada, 'https://example.com/ada', 'sign_in.new_device')
    const at = cells.clock.now()
    const event = { keyId: null, at, data: {} } as const
    await c2.core.stores.webhooks.addEvents([{ ...event, id: 'evt_a', type: 'operation.overrun', accountId: null }])
    const { id } = await accountOf(ada)
    await main.core.stores.webhooks.addEvents([
      { ...event, id: 'evt_b', type: 'sign_in.new_device', accountId: id as 'acct_' },
    ])
    const dispatch = async () => {
      for (const copies of c2.gateway.eventCopies) await copies.run()
      for (const gateway of [main, c2]) await gateway.gateway.delivering.run()
    }
    await dispatch()
    await dispatch()
    const sent = `SELECT event_id AS event FROM webhook_deliveries WHERE event_id IN ('evt_a', 'evt_b')`
    expect(await main.core.stores.db.all<unknown>(sql.raw(sent))).toEqual([{ event: 'evt_a' }])
    expect(await c2.core.stores.db.all<unknown>(sql.raw(sent))).toEqual([{ event: 'evt_b' }])
    expect(await rows(main, `SELECT 1 FROM events WHERE id = 'evt_a' AND dispatched`)).toBe(1)
  })

  test('an owner reads one audit log, with the sign-ins that main noted', async () => {
    const { id } = await accountOf(ada)
    const trail = await cells.c2.core.stores.audit.ofAccount(id as 'acct_', 100, null)
    const actions = trail?.rows.map(({ action }) => action) ?? []
    expect(actions).toContain('account.new_browser')
    expect(actions).toContain('key.create')
    expect(actions.at(-1)).toBe('account.open')
  })

  test('a new password disconnects the apps of an account in another cell', async () => {
    const { accounts, appGrants, stores, apps } = cells.c2.core
    const account = await accounts.byUser(ada.userId)
    if (!account) throw new Error('no account')
    const connected = await appGrants.of(account, 'gateway-cli', '127.0.0.1')
    const identity = cells.main.gateway.users
    await identity.disconnectApps(ada.userId, '127.0.0.1', 'new_password')
    expect(await apps.live(account.id, connected.clientId)).toBeNull()
    const trail = await stores.audit.ofAccount(account.id, 1, null)
    expect(trail?.rows[0]).toMatchObject({ action: 'connection.end', detail: { because: 'new_password' } })
    // Its cell is away: no message arrives, and the reset goes on.
    cells.unreachable = true
    await identity.disconnectApps(ada.userId, '127.0.0.1', 'new_password')
    cells.unreachable = false
    expect(cells.main.logged.join('')).toContain('could not notify another cell')
  })

  test('a closed account leaves nothing of its owner in either database', async () => {
    const { id } = await accountOf(ada)
    await read(ada.api('/api/settings/close', { email: 'ada@example.com' }))
    for (const gateway of [cells.main, cells.c2]) {
      const { db } = gateway.core.stores
      expect(
        await db.all<unknown>(sql`SELECT address FROM audit_log WHERE account_id = ${id} AND address IS NOT NULL`),
      ).toEqual([])
      expect(await db.all<unknown>(sql`SELECT id FROM events WHERE account_id = ${id}`)).toEqual([])
    }
    expect((await ada.api('/api/account')).status).toBe(401)
    ada = await cells.owner('eva@example.com')
    expect(ada.cell).toBe(C2)
    expect((await accountOf(ada)).credit_micros_usd).toBe(2_000_000)
  })

  test('everything is there after a restart, and each table has rows only where it belongs', async () => {
    const { folders } = cells
    const balances = await Promise.all([ada, bob].map(async (one) => (await accountOf(one)).balance_micros_usd))
    await cells.close(true)
    const [inMain, inC2] = folders.map((folder) => join(folder, 'gateway.db'))
    for (const file of [inMain, inC2]) expect((await reconcile(file ?? '')).problems).toEqual([])
    expect(await foreignRows(inC2 ?? '', 'control')).toEqual([])
    cells = await openCells({ folders })
    ada = await cells.signIn('eva@example.com')
    bob = await cells.signIn('bob@example.com')
    const after = await Promise.all([ada, bob].map(async (one) => (await accountOf(one)).balance_micros_usd))
    expect(after).toEqual(balances)
  })
})

/** The tables of that home which have rows in a database. */
async function foreignRows(file: string, home: TableHome): Promise<string[]> {
  const client = openFile(file)
  const found: string[] = []
  for (const [table, its] of Object.entries(TABLE_HOMES)) {
    if (its !== home) continue
    const { rows } = await client.execute(`SELECT count(*) AS count FROM ${table}`)
    if (Number(rows[0]?.['count']) > 0) found.push(table)
  }
  client.close()
  return found
}
