import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { LoadedHolds } from '../../server/adapters/stores/memory/loaded-holds'
import { auditEntry } from '../../server/core/audit'
import { type AccountId, makeId, type PoolId, type RequestId } from '../../server/core/ids'
import { appended, type JournalRecord } from '../../server/core/ledger/journal'
import { Ledger } from '../../server/core/ledger/ledger'
import type { StuckRecord } from '../../server/core/ledger/stuck-record'
import { StuckRecords } from '../../server/core/ledger/stuck-records'
import { micros } from '../../server/core/money'
import { isUnavailable } from '../../server/core/unavailable'
import { accountId, call, charge, poolId, requestId } from '../support/ledger-parts'
import { budgetOf, dayOf, LateTables, MIDNIGHT, type Read } from './late-tables'
import { RandomJournal } from './random-journal'

const pick = fc.nat(50)
const amount = fc.integer({ min: 1, max: 60 })
const named = <N extends string>(name: N) => fc.constant(name)
const decided = fc.constantFrom('committed' as const, 'refused' as const)
const outcome = fc.constantFrom('committed' as const, 'committed' as const, 'refused' as const, 'unknown' as const)
const step = fc.constantFrom('look' as const, 'look' as const, 'answer' as const, 'answer' as const, 'fail' as const)
const kind = fc.constantFrom(
  'credit' as const,
  'topUp' as const,
  'takeBack' as const,
  'debit' as const,
  'open' as const,
)
const limit = fc.option(fc.nat(200))
const creditPays = fc.boolean()
const action = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: named('hold'), pick, amount, late: fc.nat(3), creditPays }) },
  { weight: 5, arbitrary: fc.record({ do: named('capture'), pick, amount }) },
  { weight: 1, arbitrary: fc.record({ do: named('release'), pick }) },
  { weight: 3, arbitrary: fc.record({ do: named('move'), pick, amount, kind }) },
  { weight: 2, arbitrary: fc.record({ do: named('refundCharge'), pick }) },
  { weight: 1, arbitrary: fc.record({ do: named('decide'), isRetry: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: named('limit'), pick, limit }) },
  { weight: 1, arbitrary: fc.record({ do: named('budget'), pick, limit }) },
  { weight: 2, arbitrary: fc.record({ do: named('show'), pick }) },
  { weight: 1, arbitrary: fc.record({ do: named('midnight') }) },
  { weight: 8, arbitrary: fc.record({ do: named('read'), pick, how: step }) },
  { weight: 6, arbitrary: fc.record({ do: named('answer'), pick, how: outcome }) },
  { weight: 2, arbitrary: fc.record({ do: named('tell'), pick, fate: decided }) },
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

const OPERATOR = { kind: 'operator', id: 'test', address: null } as const
const AUDIT = auditEntry({ at: 1, actor: OPERATOR, action: 'account.grant' })
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

class SeenHolds extends LoadedHolds {
  has(id: AccountId | PoolId): boolean {
    return id.startsWith('acct_') ? this.hasAccount(id as AccountId) : this.hasPool(id as PoolId)
  }
}

/** A process that took over from another one: two accounts with money, calls that were charged, one charge that was not to be, one stuck record. */
class World {
  readonly journal = new RandomJournal()
  readonly holds = new SeenHolds()
  readonly accounts = [accountId(), accountId()] as const
  readonly opened = accountId()
  readonly pools = [0, 0, 1].map((account) => ({ id: poolId(), account: this.accounts[account] ?? this.opened }))
  readonly tables = new LateTables(
    this.journal,
    this.accounts,
    new Map(this.pools.map(({ id, account }) => [id, account])),
  )
  readonly ledger = new Ledger({
    holds: this.holds,
    journal: this.journal,
    bookings: this.journal,
    clock: { now: () => this.tables.now },
    onReversalFailure: (request) => this.alarms.push(request),
  })
  readonly alarms: string[] = []
  readonly charged = new Map<RequestId, number>()
  readonly calls = new Map<RequestId, { readonly account: AccountId; readonly amount: number; readonly at: number }>()
  readonly under: Promise<unknown>[] = []
  /** Calls under way count to the day on which a budget is set. */
  isBudgetSet = false
  /** A limit may be set below what is spent. */
  private isLimitSet = false
  private stuck: StuckRecord | null = null
  private readonly decisions: StuckRecords

  constructor() {
    this.holds.readFrom(this.tables)
    for (const [i, account] of this.accounts.entries()) this.earlier(account, 150 + i, i)
    const [pool] = this.pools
    this.tables.limits.set(this.pools[1]?.id ?? poolId(), 120)
    if (pool) this.tables.budgets.set(pool.id, 90)
    const account = this.accounts[0]
    const record = this.charge(account, 20, pool?.id, MIDNIGHT - 10)
    const { call: ofStuck } = record
    if (!ofStuck) throw new Error('no call')
    this.stuck = {
      id: makeId('stuck', 1),
      at: 1,
      accountId: account,
      requestId: ofStuck.id,
      source: 'log',
      reason: 'test',
      record: { ...record, spent: { poolId: pool?.id ?? poolId(), amount: 20 } },
    }
    this.decisions = new StuckRecords({
      journal: this.journal,
      holds: this.holds,
      clock: { now: () => this.tables.now },
      store: {
        page: async () => [],
        counts: async () => ({ records: 0, accounts: 0 }),
        isCounted: () => false,
        byId: async () => this.stuck,
        refresh: async () => {
          this.stuck = null
          this.holds.review(new Set())
        },
      },
    })
    this.holds.review(new Set([account]))
  }

  /** The commits of the process before. */
  private earlier(account: AccountId, amount: number, i: number): void {
    const pool = this.pools.find((one) => one.account === account)?.id
    const grant = { accountId: account, credit: 0, paid: 0, toppedUp: 0, debt: 0 }
    const entry = charge(account, amount).entries[0]
    if (!entry || !pool) throw new Error('no entry')
    const part = i === 0 ? 'credit' : 'paid'
    const gift = { ...entry, kind: 'grant' as const, debit: 'house/grants' as const, requestId: null }
    this.write({ entries: [{ ...gift, credit: `${account}/${part}` }], change: { ...grant, [part]: amount } })
    const late = this.charge(account, 15, pool, MIDNIGHT - 5, part)
    this.write(late)
  }

  private charge(
    account: AccountId,
    amount: number,
    pool: PoolId | undefined,
    at: number,
    part: 'credit' | 'paid' = 'credit',
  ) {
    return charge(account, amount, { part, call: call(account, amount, { at }), ...(pool && { pool }) })
  }

  private write(record: JournalRecord): void {
    void appended(this.journal, record)
    this.journal.answer(0, 'committed')
  }

  start(one: Action): void {
    this.under.push(
      this.begin(one).catch((error: unknown) => {
        if (!isUnavailable(error)) throw error
      }),
    )
  }

  private async begin(one: Action): Promise<unknown> {
    switch (one.do) {
      case 'answer':
        return this.journal.answer(one.pick, one.how)
      case 'tell':
        return this.journal.tell(one.pick, one.fate)
      case 'read':
        return this.read(one.pick, one.how)
      case 'midnight':
        this.tables.now = MIDNIGHT + 2
        return
      case 'hold':
        return this.hold(one)
      case 'capture':
        return this.capture(one)
      case 'release':
        return this.ledger.release(this.callOf(one.pick)?.[0] ?? requestId())
      case 'move':
        return this.move(one)
      case 'refundCharge': {
        const [request, known] = this.callOf(one.pick) ?? []
        if (!request || !known) return
        const { account } = known
        return this.ledger.refundCharge({ account, request, amount: null, description: '', audit: AUDIT })
      }
      case 'decide':
        return this.decide(one.isRetry)
      case 'limit':
        return this.limit(one)
      case 'budget':
        return this.budget(one)
      case 'show': {
        const pool = this.poolOf(one.pick)
        return Promise.all([
          this.ledger.balance(pool.account),
          this.ledger.balance(this.opened),
          this.ledger.pool(pool.id),
        ])
      }
    }
  }

  private read(which: number, how: keyof Read): void {
    this.tables.reads[which % Math.max(1, this.tables.reads.length)]?.[how]()
  }

  private async decide(isRetry: boolean): Promise<void> {
    if (!this.stuck) return
    const { id } = this.stuck
    await (isRetry ? this.decisions.retry(OPERATOR, id) : this.decisions.discard(OPERATOR, id, 'why'))
  }

  private poolOf(which: number) {
    return this.pools[which % 3] ?? { id: poolId(), account: this.opened }
  }

  private callOf(which: number) {
    return [...this.calls][which % Math.max(1, this.calls.size)]
  }

  private async hold({ pick: which, amount: most, late, creditPays }: Extract<Action, { do: 'hold' }>): Promise<void> {
    const { id: pool, account } = this.poolOf(which)
    const request = requestId()
    const at = this.tables.now - late
    const granted = await this.ledger.hold({ request, account, pool, amount: micros(most), creditPays, at })
    if (!granted.ok) return
    this.calls.set(request, { account, amount: most, at })
    const now = await this.ledger.pool(pool)
    if (!this.isLimitSet && now?.limit != null) expect(now.spent + now.held).toBeLessThanOrEqual(now.limit)
  }

  private async capture({ pick: which, amount: most }: Extract<Action, { do: 'capture' }>): Promise<void> {
    const [id, known] = this.callOf(which) ?? []
    if (!id || !known || this.charged.has(id)) return
    const cost = Math.min(most, known.amount)
    const captured = await this.ledger.capture(micros(cost), call(known.account, cost, { id, at: known.at }))
    if (captured.ok) this.charged.set(id, cost)
  }

  private move({ pick: which, amount: value, kind }: Extract<Action, { do: 'move' }>): Promise<unknown> {
    // Money that leaves the account of a stuck record would be missing when that is booked.
    const own = kind === 'takeBack' || kind === 'debit' ? this.accounts[1] : (this.accounts[which % 2] ?? this.opened)
    const account = kind === 'open' ? this.opened : own
    const move = { account, amount: micros(value), description: '', reference: `${kind} ${which % 9}` }
    if (kind === 'takeBack') return this.ledger.takeBack({ ...move, kind: 'dispute' })
    if (kind === 'debit') return this.ledger.debit({ ...move, audit: AUDIT })
    if (kind === 'topUp') return this.ledger.credit({ ...move, kind: 'top_up', part: 'paid' })
    if (kind === 'credit') return this.ledger.credit({ ...move, kind: 'grant', part: 'credit' })
    const opening = { id: account, userId: 'new', createdAt: 1 }
    return this.ledger.credit({ ...move, reference: 'signup', kind: 'signup_credit', part: 'credit', opening })
  }

  /** As `Keys.change`: in memory first, then in the tables, then in the counters. */
  private async limit({ pick: which, limit }: Extract<Action, { do: 'limit' }>): Promise<void> {
    const { id, account } = this.poolOf(which)
    await this.holds.load(account, id)
    this.isLimitSet = true
    this.tables.limits.set(id, limit)
    await this.holds.setPoolLimit(id, limit === null ? null : micros(limit))
  }

  private async budget({ pick: which, limit }: Extract<Action, { do: 'budget' }>): Promise<void> {
    const { id, account } = this.poolOf(which)
    await this.holds.load(account, id)
    this.isBudgetSet = true
    const at = this.tables.now
    const spending = this.tables.spending(id, at)
    await settled()
    this.tables.budgets.set(id, limit)
    await this.holds.setPoolBudgets(id, limit === null ? [] : [budgetOf(limit)], at, [spending])
  }

  /** Memory has the committed state; the rest is read as committed. */
  async check(): Promise<void> {
    for (const id of [...this.accounts, this.opened].filter((one) => this.holds.has(one))) {
      const balance = await this.holds.balance(id)
      expect(balance?.available).toBeGreaterThanOrEqual(0)
      expect(Number(balance?.toppedUp)).toBe(this.journal.counter(id, 'toppedUp'))
      for (const part of ['credit', 'paid', 'debt'] as const)
        expect(Number(balance?.[part])).toBe(this.journal.counter(id, part))
    }
    for (const { id } of this.pools.filter((pool) => this.holds.has(pool.id))) {
      const pool = await this.holds.pool(id, this.tables.now)
      expect(Number(pool?.spent)).toBe(this.journal.spent(id))
      for (const at of [MIDNIGHT - 1, MIDNIGHT + 1].filter((one) => one <= this.tables.now + 1)) {
        const window = this.isBudgetSet ? null : (await this.holds.pool(id, at))?.windows[0]
        if (window) expect([at, Number(window.spent)]).toEqual([at, Number(this.tables.spentIn(id, dayOf(at)))])
      }
    }
  }

  async finish(): Promise<void> {
    for (let i = 0; !this.journal.isIdle || this.tables.reads.length > 0; i++) {
      this.journal.answer(i, 'committed')
      this.journal.tell(i, 'committed')
      this.tables.reads[0]?.answer()
      await settled()
    }
    await Promise.all(this.under)
  }
}

test('in any order of reads, counters equal the committed state, and no account spends more than its balance', async () => {
  let read = 0
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 20, maxLength: 90, size: 'max' }), async (actions) => {
      const world = new World()
      for (const one of actions) {
        world.start(one)
        await settled()
        await world.check()
      }
      await world.finish()
      await world.check()
      for (const [id, cost] of world.charged) expect(world.journal.charged(id)).toBe(cost)
      expect(world.alarms).toEqual([])
      read += [...world.accounts, ...world.pools.map(({ id }) => id)].filter((id) => world.holds.has(id)).length
    }),
    { numRuns: 400 },
  )
  expect(read).toBeGreaterThan(500)
}, 60_000)
