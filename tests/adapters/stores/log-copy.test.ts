import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'drizzle-orm'
import { decodeLog } from '../../../server/adapters/stores/libsql/journal/log-format'
import { LogSink } from '../../../server/adapters/stores/libsql/journal/log-journal'
import { appended } from '../../../server/core/ledger/journal'
import { chained, type LogCopy, type LogEnd, type LoggedGroup } from '../../../server/core/ledger/log-copy'
import { micros } from '../../../server/core/money'
import { isUnavailable } from '../../../server/core/unavailable'
import { executeOn } from '../../support/databases/database-file'
import { accountId, apiKey, audit, charge, NOON, opening, openTestStores, raiseEpoch } from '../../support/ledger-parts'
import { reconcile } from '../../support/reconcile'
import { until } from '../../support/until'

let folder = ''
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-copy-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** The log's second place, in memory. What is appended while it answers nothing waits. */
class Place {
  groups: LoggedGroup[] = []
  base: LogEnd = { number: 0, chain: '' }
  problem: string | null = null
  private gate = Promise.resolve()
  private open = () => {}

  /** For `openTestStores`. */
  readonly openCopy = async (local: LogEnd): Promise<LogCopy> => {
    if (this.groups.length === 0) this.base = local
    const problem = () => this.problem
    return {
      end: this.ends.at(-1) ?? this.base,
      get problem() {
        return problem()
      },
      waitingMs: 0,
      at: async (number) => [this.base, ...this.ends].find((end) => end.number === number) ?? null,
      after: (end) => this.after(end),
      append: async (group) => {
        await this.gate
        this.groups.push(group)
      },
      close: async () => undefined,
    }
  }

  stall(): void {
    this.gate = new Promise((resolve) => {
      this.open = resolve
    })
  }

  answer(): void {
    this.open()
  }

  private get ends(): LogEnd[] {
    let end = this.base
    return this.groups.map((group) => {
      end = chained(end, group)
      return end
    })
  }

  private async *after({ number }: LogEnd) {
    yield this.groups.filter((group) => group.number > number)
  }
}

const open = (place: Place, folderOf = folder, more = {}) =>
  openTestStores({ folder: folderOf, openCopy: place.openCopy, ...more })
const failureOf = (act: Promise<unknown>) =>
  act.then(
    () => null,
    (error: Error) => error.message,
  )

describe('a log with a second place', () => {
  test('acknowledges a charge when both places have it', async () => {
    const place = new Place()
    const stores = await open(place)
    const account = await stores.account(1000)
    place.stall()
    let outcome: string | null = null
    const charging = appended(stores.journal, charge(account, 5)).then(({ kind }) => {
      outcome = kind
    })
    await until(async () => decodeLog(await readFile(`${stores.file}.log`)).lines.length === 2)
    expect(outcome).toBeNull()
    place.answer()
    await charging
    expect(String(outcome)).toBe('committed')
    await stores.close()
    expect((await reconcile(stores.file)).problems).toEqual([])
  })

  test('gets a change of a key before its owner is answered; after a caller’s patience the change is made and unconfirmed', async () => {
    const place = new Place()
    const stores = await open(place, folder, { patienceMs: 200 })
    const account = await stores.account(1000)
    const key = apiKey(account)
    await stores.credentials.create(key, { limit: micros(50), budgets: [] }, audit())
    const before = place.groups.length
    place.stall()
    const disabled = { ...key, disabledAt: NOON }
    const error = await stores.credentials.update({ key: disabled, pool: undefined as never }, audit()).then(
      () => null,
      (thrown: Error) => thrown,
    )
    expect(isUnavailable(error)).toBe(true)
    expect(place.groups.length).toBe(before)
    expect((await stores.credentials.byHash(key.hash))?.disabledAt).toBe(NOON)
    place.answer()
    await until(() => place.groups.length === before + 1)
    expect(place.groups.at(-1)?.payload).toContain(`"disabled_at":${NOON}`)
    await stores.close()
    expect(await executeOn(stores.file, 'SELECT * FROM direct_changes')).toEqual([])
  })

  test('lets nothing be written to the tables while the lease is in doubt, and money is refused', async () => {
    const place = new Place()
    const stores = await open(place)
    const account = await stores.account(1000)
    place.problem = 'not renewed'
    const key = apiKey(account)
    const refused = await failureOf(stores.credentials.create(key, { limit: null, budgets: [] }, audit()))
    expect(refused).not.toBeNull()
    const { opening: _, ...credit } = opening(account, 40, 'late')
    expect(await appended(stores.journal, credit)).toMatchObject({ kind: 'refused', constraint: null })
    place.problem = null
    expect(await stores.credentials.byHash(key.hash)).toBeNull()
    expect((await appended(stores.journal, credit)).kind).toBe('committed')
    await stores.close()
    expect((await reconcile(stores.file)).problems).toEqual([])
  })

  test('brings older tables to its end: charges, money, opened accounts, keys and limits, in order', async () => {
    const place = new Place()
    const first = await open(place)
    const account = await first.account(1000)
    const key = apiKey(account)
    await first.credentials.create(key, { limit: micros(50), budgets: [] }, audit())
    for (let i = 0; i < 5; i++) await appended(first.journal, charge(account, 5))
    for (const name of ['one', 'two'])
      await first.db.run(sql`INSERT INTO worker_credentials (name, salt, created_at) VALUES (${name}, 's', 1)`)
    await first.db.run(sql`INSERT INTO oauth_client (id, client_id, redirect_uris) VALUES ('c', 'app', '[]')`)
    await first.close()
    const older = join(folder, 'older')
    await mkdir(older)
    await executeOn(first.file, 'VACUUM INTO ?', [join(older, 'gateway.db')])

    const again = await open(place)
    const { opening: _, ...credit } = opening(account, 40, 'late')
    expect((await appended(again.journal, credit)).kind).toBe('committed')
    const second = accountId()
    expect((await appended(again.journal, opening(second, 70))).kind).toBe('committed')
    const late = apiKey(second)
    await again.credentials.create(late, { limit: null, budgets: [] }, audit())
    expect((await appended(again.journal, charge(second, 60))).kind).toBe('committed')
    const lowered = { limit: micros(7), budgets: [] }
    await again.credentials.update({ key: { ...key, revokedAt: NOON }, pool: lowered }, audit())
    await again.db.run(sql`DELETE FROM worker_credentials WHERE name = 'one'`)
    await again.db.run(sql`UPDATE oauth_client SET disabled = 1 WHERE id = 'c'`)
    await again.db.run(sql`INSERT INTO oauth_client (id, client_id, redirect_uris) VALUES ('d', 'late', '[]')`)
    const opened = await again.accounts.byId(second)
    if (!opened) throw new Error('no account')
    await again.accounts.update({ ...opened, closedAt: NOON }, audit())
    await again.close()

    const restored = await open(place, older)
    expect((await restored.credentials.byHash(key.hash))?.revokedAt).toBe(NOON)
    expect((await restored.credentials.byHash(late.hash))?.id).toBe(late.id)
    expect([(await restored.holds.balance(account))?.posted, (await restored.holds.balance(second))?.posted]).toEqual([
      micros(1015),
      micros(10),
    ])
    expect((await restored.accounts.byId(second))?.closedAt).toBe(NOON)
    await restored.close()
    expect((await reconcile(restored.file)).problems).toEqual([])
    const names = await executeOn(restored.file, 'SELECT name FROM worker_credentials')
    const apps = await executeOn(restored.file, 'SELECT client_id AS id, disabled FROM oauth_client')
    expect(names.map((row) => String(row['name']))).toEqual(['two'])
    expect(apps.map((row) => [String(row['id']), Number(row['disabled'])])).toEqual([['app', 1]])
    const limits = await executeOn(restored.file, 'SELECT spending_limit AS l FROM pools WHERE id = ?', [key.poolId])
    expect(limits.map((row) => Number(row['l']))).toEqual([7])
    expect(await executeOn(restored.file, 'SELECT * FROM stuck_records')).toEqual([])
  })

  test('gets at the start what only the file and the tables have: a group, and a change that was not logged', async () => {
    const place = new Place()
    const stores = await open(place)
    const account = await stores.account(1000)
    const key = apiKey(account)
    await stores.credentials.create(key, { limit: null, budgets: [] }, audit())
    await raiseEpoch(stores.file) // the tables get nothing more
    for (let i = 0; i < 3; i++) await appended(stores.journal, charge(account, 5))
    await stores.close()
    // PostgreSQL was promoted without the last two.
    const lost = place.groups.splice(-2)
    const change = JSON.stringify({ table: 'keys', id: key.id, row: { id: key.id, note: 'x' } })
    await executeOn(stores.file, 'INSERT INTO direct_changes (change) VALUES (?)', [change])
    const next = await open(place)
    expect(place.groups.slice(-3, -1)).toEqual(lost)
    expect(place.groups.at(-1)?.payload).toContain('"note":"x"')
    expect((await next.holds.balance(account))?.posted).toBe(micros(985))
    await next.close()
    expect((await reconcile(next.file)).problems).toEqual([])
  })

  test('is refused when it is another log, or lacks groups that nobody has any more', async () => {
    const [place, other] = [new Place(), new Place()]
    const stores = await open(place)
    const account = await stores.account(1000)
    for (let i = 0; i < 3; i++) await appended(stores.journal, charge(account, 5))
    await stores.close()
    other.groups = place.groups.map((group) => ({ ...group, payload: '[]' }))
    expect(await failureOf(open(other))).toContain('is another one at LOG_URL')
    other.groups = other.groups.slice(0, 2)
    expect(await failureOf(open(other))).toContain('was written without LOG_URL, or PostgreSQL lost them')
    const next = await open(place)
    expect((await next.holds.balance(account))?.posted).toBe(micros(985))
    await next.close()
  })
})

test('a group that the disk refuses is tried until both places have it, because the other may; a broken log ends that', async () => {
  const there: number[] = []
  const log = {
    size: 0,
    lastNumber: 0,
    isBroken: false,
    refusals: 1,
    async append() {
      const number = log.lastNumber + 1
      if (log.refusals-- > 0) return { kind: 'refused', reason: 'ENOSPC', isFull: true, number, bytes: 0 } as const
      log.lastNumber = number
      return { kind: 'written', number, bytes: 9 } as const
    },
    empty: async () => undefined,
  }
  const applier = {
    isBehind: false,
    lastApplied: 0,
    unappliedBytes: 0,
    add: () => undefined,
    applied: async () => undefined,
    step: async () => undefined,
    emptied: () => undefined,
  }
  const append = async ({ number }: LoggedGroup) => void there.push(number)
  const sink = new LogSink({ log, copy: { append }, applier, onTrouble: () => undefined })
  const write = () => sink.write({ records: [charge(accountId(), 5)] }, ['{}'])
  expect([await write(), there, log.lastNumber]).toEqual(['committed', [1], 1])
  log.refusals = 1
  log.isBroken = true
  expect([await write(), there]).toEqual(['lost', [1, 2]])
})
