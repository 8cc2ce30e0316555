import { afterEach, describe, expect, spyOn, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { LibsqlAppGrants } from '../../../server/adapters/stores/libsql/app-grants'
import { Connection } from '../../../server/adapters/stores/libsql/driver/worker/worker-connection'
import type { Budget } from '../../../server/core/credentials/api-key'
import { makeId } from '../../../server/core/ids'
import { appended } from '../../../server/core/ledger/journal'
import { Ledger } from '../../../server/core/ledger/ledger'
import { micros } from '../../../server/core/money'
import { endTestDatabase } from '../../support/databases/test-database'
import {
  apiKey,
  audit,
  charge,
  NOON,
  openTestStores,
  poolId,
  requestId,
  type TestStores,
} from '../../support/ledger-parts'

const closers: (() => Promise<void>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function folderOf(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-first-use-'))
  closers.push(async () => {
    await endTestDatabase(folder)
    await rm(folder, { recursive: true, force: true })
  })
  return folder
}

/** Opens the stores of a folder, and closes them before they are opened again. */
async function withStores<T>(folder: string, use: (stores: TestStores) => Promise<T>, at = NOON): Promise<T> {
  const stores = await openTestStores({ folder, clock: { now: () => at } })
  try {
    return await use(stores)
  } finally {
    await stores.close()
  }
}

/** The rows that the database sent while the stores were opened. */
async function rowsOfOpening(folder: string): Promise<number> {
  const sent = spyOn(Connection.prototype, 'send')
  try {
    await withStores(folder, async () => undefined)
    const answers = sent.mock.results.map(({ value }) => value as ReturnType<Connection['send']>)
    return (await Promise.all(answers)).flat().reduce((sum, { rows }) => sum + rows.length, 0)
  } finally {
    sent.mockRestore()
  }
}

/** Resolves when the database has answered what `ask` asks first. The answer arrives at `end`. */
async function readLate<T>(ask: () => Promise<T>): Promise<{ readonly end: () => Promise<T> }> {
  const [read, late] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const { send } = Connection.prototype
  const sent = spyOn(Connection.prototype, 'send')
  sent.mockImplementationOnce(async function (this: Connection, request) {
    const results = await send.call(this, request)
    read.resolve()
    await late.promise
    return results
  })
  const asked = ask()
  await read.promise
  sent.mockRestore()
  return {
    end() {
      late.resolve()
      return asked
    },
  }
}

const ledgerOf = ({ holds, journal, stores }: TestStores) =>
  new Ledger({
    holds,
    journal,
    bookings: stores.bookings,
    clock: { now: () => NOON },
    onReversalFailure: (request, reason) => {
      throw new Error(`${request}: ${reason}`)
    },
  })

test('as many rows are read at an opening with thousands of accounts, keys and budgets as with one', async () => {
  const folder = await folderOf()
  await withStores(folder, async ({ account, key }) => void (await key(await account())))
  const few = await rowsOfOpening(folder)
  await withStores(folder, ({ stores: { db } }) =>
    db.batch([
      db.run(sql`INSERT INTO accounts (id, user_id, created_at)
        SELECT 'acct_' || printf('%032x', value), 'user ' || value, 1 FROM generate_series(1, 3000)`),
      db.run(sql`INSERT INTO pools (id, account_id, budget)
        SELECT 'pool_' || printf('%032x', value), 'acct_' || printf('%032x', value),
          '{"limitUsd":1,"period":"day","timezone":"UTC"}' FROM generate_series(1, 3000)`),
      db.run(sql`INSERT INTO keys (id, account_id, pool_id, hash, prefix, last4, name, allowed_ips, allowed_endpoints, allowed_models, created_at)
        SELECT 'key_' || printf('%032x', value), 'acct_' || printf('%032x', value), 'pool_' || printf('%032x', value),
          'hash ' || value, 'gwk_1234', '5678', 'key', '[]', '[]', '[]', 1 FROM generate_series(1, 3000)`),
    ]),
  )
  expect(await rowsOfOpening(folder)).toBe(few)
  await withStores(folder, async ({ stores }) => {
    expect(await stores.accounts.count()).toBe(3001)
    expect((await stores.credentials.byHash('hash 2999'))?.name).toBe('key')
  })
})

describe('after another opening', () => {
  test('a balance, a limit and a budget are what was committed, and money is booked once on top', async () => {
    const folder = await folderOf()
    const budget: Budget = { limitUsd: 0.0005, period: 'day', timezone: 'UTC' }
    const [account, key] = await withStores(folder, async (stores) => {
      const id = await stores.account(1000)
      const made = apiKey(id)
      await stores.holds.openPool({ id: made.poolId, account: id, limit: micros(900) })
      await stores.credentials.create(made, { limit: micros(900), budgets: [budget] }, audit())
      const spent = charge(id, 400, { pool: made.poolId })
      const { call } = spent
      const outcome = await appended(stores.journal, { ...spent, ...(call && { call: { ...call, keyId: made.id } }) })
      expect(outcome.kind).toBe('committed')
      return [id, made] as const
    })
    await withStores(folder, async (stores) => {
      const ledger = ledgerOf(stores)
      const grant = { account, part: 'paid', kind: 'grant', reference: 'grant:again', description: 'again' } as const
      const booked = await ledger.credit({ ...grant, part: 'credit', amount: micros(50) })
      expect(booked.ok).toBe(true)
      expect(Number((await ledger.balance(account))?.posted)).toBe(650)
      expect(await ledger.pool(key.poolId)).toMatchObject({ limit: micros(900), spent: micros(400) })
      expect((await ledger.pool(key.poolId))?.windows).toMatchObject([{ spent: micros(400), held: micros(0) }])
      const hold = (amount: number) =>
        ledger.hold({
          request: requestId(),
          account,
          pool: key.poolId,
          amount: micros(amount),
          creditPays: true,
          at: NOON,
        })
      expect(await hold(101)).toMatchObject({ ok: false, error: { window: { period: 'day' } } })
      expect((await hold(100)).ok).toBe(true)
      expect(await stores.credentials.budgetsOf(key.poolId)).toEqual([budget])
    })
  })

  test('the spending of the day before still counts for a call that began in it', async () => {
    const folder = await folderOf()
    const nextDay = Date.UTC(2026, 10, 22, 0, 0, 5)
    const key = await withStores(folder, async (stores) => {
      const id = await stores.account(1000)
      const made = apiKey(id)
      const budget: Budget = { limitUsd: 0.0005, period: 'day', timezone: 'UTC' }
      await stores.credentials.create(made, { limit: null, budgets: [budget] }, audit())
      const spent = charge(id, 400)
      const { call } = spent
      await appended(stores.journal, { ...spent, ...(call && { call: { ...call, keyId: made.id, at: NOON } }) })
      return made
    })
    await withStores(
      folder,
      async ({ holds }) => {
        expect((await holds.pool(key.poolId, nextDay))?.windows).toMatchObject([{ spent: micros(0) }])
        expect((await holds.pool(key.poolId, NOON))?.windows).toMatchObject([{ spent: micros(400) }])
      },
      nextDay,
    )
  })

  test('a key that is disabled while it is looked up for the first time is disabled', async () => {
    const folder = await folderOf()
    const key = await withStores(folder, async ({ account, key: make }) => make(await account()))
    await withStores(folder, async ({ stores: { credentials } }) => {
      const looking = await readLate(() => credentials.byHash(key.hash))
      await credentials.end([key], { disabledAt: NOON }, [audit()])
      expect((await looking.end())?.disabledAt).toBe(NOON)
      expect((await credentials.byHash(key.hash))?.disabledAt).toBe(NOON)
    })
  })

  test('an app that is disconnected while its grant is looked up for the first time is not connected later', async () => {
    const folder = await folderOf()
    const made = await withStores(folder, async ({ account, stores: { db } }) => {
      const accountId = await account()
      const grant = {
        id: makeId('conn', NOON),
        accountId,
        poolId: poolId(),
        userId: 'somebody',
        clientId: 'app',
        name: 'App',
      }
      const all = { ...grant, createdAt: NOON, disconnectedAt: null }
      await new LibsqlAppGrants(db, () => undefined).create(all, { limit: null }, audit())
      return all
    })
    await withStores(folder, async ({ stores: { db } }) => {
      const grants = new LibsqlAppGrants(db, () => undefined)
      const looking = await readLate(() => grants.live(made.userId, 'app'))
      await grants.disconnect([made], NOON, [audit()])
      await looking.end()
      expect(await grants.live(made.userId, 'app')).toBeNull()
    })
  })

  test('a key is read once, and an unknown name is looked up each time', async () => {
    const folder = await folderOf()
    const key = await withStores(folder, async ({ account, key: make }) => make(await account()))
    await withStores(folder, async ({ stores: { credentials, accounts } }) => {
      const read = spyOn(Connection.prototype, 'send')
      const reads = async (act: () => Promise<unknown>) => {
        const before = read.mock.calls.length
        await act()
        return read.mock.calls.length - before
      }
      try {
        expect(await reads(() => credentials.byHash(key.hash))).toBe(1)
        expect(await reads(() => credentials.byHash(key.hash))).toBe(0)
        expect(await reads(() => accounts.byId(key.accountId))).toBe(1)
        expect(await reads(() => accounts.byId(key.accountId))).toBe(0)
        expect(await reads(() => credentials.byHash('nobody'))).toBe(1)
        expect(await reads(() => credentials.byHash('nobody'))).toBe(1)
      } finally {
        read.mockRestore()
      }
    })
  })

  test('an opened account counts its first money once, also for a reader at the moment of the commit', async () => {
    const folder = await folderOf()
    await withStores(folder, async (stores) => {
      const { journal, holds } = stores
      const asking: Promise<unknown>[] = []
      const append: typeof journal.append = (record, onEnd) =>
        journal.append(record, (outcome) => {
          // The commit is done, and the ledger does not know yet.
          if (record.opening) asking.push(holds.balance(record.opening.id))
          void Promise.all(asking).then(() => onEnd(outcome))
        })
      const ledger = ledgerOf({ ...stores, journal: { append } as never })
      const account = `acct_${'7'.repeat(32)}` as const
      const booked = await ledger.credit({
        account,
        part: 'credit',
        kind: 'signup_credit',
        amount: micros(2000),
        description: 'first',
        reference: 'signup:7',
        opening: { id: account, userId: 'seven', createdAt: NOON },
      })
      expect([booked.ok, asking.length]).toEqual([true, 1])
      expect(Number((await ledger.balance(account))?.posted)).toBe(2000)
    })
  })
})
