import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { sql } from 'drizzle-orm'
import fc from 'fast-check'
import { LibsqlDirectory } from '../../server/adapters/stores/libsql/directory'
import { accountDirectory } from '../../server/adapters/stores/libsql/schema/directory'
import { SignUp } from '../../server/core/accounts/sign-up'
import { SetupToken } from '../../server/core/accounts/staff/setup-token'
import { MAIN_CELL } from '../../server/core/cluster/cells'
import { Ledger } from '../../server/core/ledger/ledger'
import { micros } from '../../server/core/money'
import { accountId, NOON, openTestStores, type TestStores } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'

const CELLS = ['main', 'c2'] as const
type Cell = (typeof CELLS)[number]
const HERE = { address: '127.0.0.1', isFromThisMachine: true }

/** The process dies before or after one step, and nothing that it began goes on. */
class Crash extends Error {}

type Method = (...given: unknown[]) => unknown

/** Lets a process die at one of its steps: calls of the stores and of the ledger. */
class Steps {
  private left: number

  constructor(crashAt: number | null) {
    this.left = crashAt ?? Number.POSITIVE_INFINITY
  }

  around<T extends object>(target: T): T {
    const get = (_: T, name: string | symbol) => {
      const member = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return async (...given: unknown[]) => {
        this.pass()
        const result = await (member as Method).apply(target, given)
        this.pass()
        return result
      }
    }
    return new Proxy(target, { get })
  }

  private pass(): void {
    if (this.left-- <= 0) throw new Crash('the process died')
  }
}

describe('with the accounts in two databases', () => {
  let stores: Record<Cell, TestStores>
  beforeAll(async () => {
    // A sign-in that opens an account comes from no known network: all of a run's would share one network's credits.
    const main = await openTestStores({ signupBrakes: { perNetwork: 1000, daily: micros(10_000_000_000) } })
    stores = { main, c2: await openTestStores({ control: main.stores }) }
  })
  afterAll(async () => {
    await stores.c2.close()
    await stores.main.close()
  })

  /** The sign-up of a process that owns one of the cells, and dies at that step. */
  function signUp(cell: Cell, { confirms = false, crashAt = null as number | null } = {}): SignUp {
    const { accounts, holds, journal, bookings } = stores[cell]
    const { directory, signupCredits } = stores.main
    const clock = { now: () => NOON }
    const steps = new Steps(crashAt)
    const ledger = new Ledger({ holds, journal, bookings, clock, onReversalFailure: () => undefined })
    return new SignUp({
      ...{ cell, cells: CELLS, confirms, clock, ledger: steps.around(ledger), accounts: steps.around(accounts) },
      ...{ directory: steps.around(directory), credits: steps.around(signupCredits) },
      ...{ setupToken: new SetupToken(), firstIsOperator: true, production: false, secret: 'secret' },
      onCreditRefused: () => undefined,
    })
  }

  /** The cell whose gateway answers the user's requests, as the router says. */
  const cellOf = async (user: string) => ((await stores.main.cells.ofUser(user)) ?? MAIN_CELL) as Cell

  async function booked(cell: Cell, user: string) {
    const { db } = stores[cell]
    const [found] = await db.all<{ accounts: number; credits: number; money: number }>(sql`SELECT
      (SELECT count(*) FROM accounts WHERE user_id = ${user}) AS accounts,
      (SELECT count(*) FROM entries WHERE kind = 'signup_credit' AND reference = ${`signup_credit:${user}`}) AS credits,
      (SELECT coalesce(sum(credit), 0) FROM accounts WHERE user_id = ${user}) AS money`)
    return found ?? { accounts: 0, credits: 0, money: 0 }
  }

  test('the first account is in main, and each further one in the cell with the fewest', async () => {
    const users = ['first', 'second', 'third', 'fourth']
    for (const user of users) await signUp('main').openAccount(user, HERE)
    const cells = await Promise.all(users.map(cellOf))
    expect(cells).toEqual(['main', 'c2', 'main', 'c2'])
    expect(stores.main.directory.withRole('operator')).toHaveLength(1)
  })

  test('sign-ups at once are spread evenly', async () => {
    const users = Array.from({ length: 20 }, (_, i) => `crowd ${i}`)
    await Promise.all(users.map((user) => signUp('main').openAccount(user, HERE)))
    const cells = await Promise.all(users.map(cellOf))
    expect(CELLS.map((cell) => cells.filter((one) => one === cell).length)).toEqual([10, 10])
    // A process that starts now counts what is there.
    await stores.main.db.insert(accountDirectory).values({ accountId: accountId(), userId: 'x', createdAt: NOON })
    const place = (userId: string) =>
      new LibsqlDirectory(stores.main.db).assignHome({
        ...{ accountId: accountId(), userId, mayBeOperator: false, createdAt: NOON, cells: CELLS },
      })
    expect([(await place('y')).cell, (await place('z')).cell]).toEqual(['c2', 'main'])
  })

  test('main opens no account that is placed elsewhere, and another cell none that is not placed there', async () => {
    await signUp('main').openAccount('even', HERE)
    await signUp('main').openAccount('odd', HERE)
    const [there, here] = (await cellOf('even')) === 'c2' ? ['even', 'odd'] : ['odd', 'even']
    expect(await signUp('main').openAccount(there, HERE)).toBeNull()
    expect(await signUp('main').isElsewhere(there)).toBe(true)
    expect(await signUp('c2').openAccount(here, HERE)).toBeNull()
    expect(await signUp('c2').openAccount('nobody', HERE)).toBeNull()
    expect(await signUp('c2').openAccount(there, HERE)).toMatchObject({ userId: there, operator: false })
    expect(await booked('c2', here)).toMatchObject({ accounts: 0 })
    expect(await booked('main', there)).toMatchObject({ accounts: 0 })
  })

  test('a credit that is confirmed by mail after the account was opened is booked by its cell, once', async () => {
    const confirms = true
    for (const some of ['late', 'later']) await signUp('main', { confirms }).openAccount(some)
    const user = (await cellOf('late')) === 'c2' ? 'late' : 'later'
    const cell = signUp('c2', { confirms })
    const account = await cell.openAccount(user, HERE)
    expect(await booked('c2', user)).toEqual({ accounts: 1, credits: 0, money: 0 })
    expect(await signUp('main', { confirms }).mayEnter(user)).toBe(false)
    expect(await signUp('main', { confirms }).confirm(user)).toBe(true)
    expect(await signUp('main', { confirms }).mayEnter(user)).toBe(true)
    for (const process of [cell, cell, signUp('c2', { confirms })])
      expect(await process.openAccount(user, HERE)).toEqual(account)
    expect(await booked('c2', user)).toEqual({ accounts: 1, credits: 1, money: 2_000_000 })
    expect(await booked('main', user)).toEqual({ accounts: 0, credits: 0, money: 0 })
  })

  test('wherever processes die, the next requests leave one account in one cell, with one credit', async () => {
    const act = fc.record({
      what: fc.constantFrom('sign up', 'confirm', 'sign in', 'visit'),
      crashAt: fc.option(fc.nat(16)),
    })
    let users = 0
    const run = async (what: string, user: string, confirms: boolean, crashAt: number | null) => {
      const main = () => signUp('main', { confirms, crashAt })
      if (what === 'sign up') return main().openAccount(user, HERE)
      if (what === 'confirm') return main().confirm(user)
      if (what === 'sign in') return main().mayEnter(user)
      return signUp(await cellOf(user), { confirms, crashAt }).openAccount(user, HERE)
    }
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 8 }), fc.boolean(), async (acts, confirms) => {
        const user = `user ${users++}`
        for (const { what, crashAt } of acts)
          await run(what, user, confirms, crashAt).catch((error: unknown) => {
            if (!(error instanceof Crash)) throw error
          })
        for (const what of ['sign up', 'confirm', 'sign in', 'visit', 'visit']) await run(what, user, confirms, null)
        const home = await cellOf(user)
        const other = home === 'main' ? 'c2' : 'main'
        expect(await booked(home, user)).toEqual({ accounts: 1, credits: 1, money: 2_000_000 })
        expect(await booked(other, user)).toEqual({ accounts: 0, credits: 0, money: 0 })
      }),
      { numRuns: 60 },
    )
    for (const cell of CELLS) expect((await reconcile(stores[cell].url)).problems).toEqual([])
  })
})
