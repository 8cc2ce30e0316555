import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { MemoryHolds } from '../../server/adapters/stores/memory/holds'
import { accountPool, type PoolId, type RequestId } from '../../server/core/ids'
import type { PoolBudget } from '../../server/core/ledger/hold'
import { micros, ZERO } from '../../server/core/money'
import { periodAround } from '../../server/core/usage/calendar'
import { accountId, poolId, requestId } from '../support/ledger-parts'

const HOUR = 3_600_000
const ZONES = ['UTC', 'Europe/Berlin', 'Asia/Kathmandu'] as const
const amount = fc.integer({ min: 1, max: 120 }).map(micros)
const budgetOf = (period: PoolBudget['period']) =>
  fc.record({
    limit: amount,
    period: fc.constant(period),
    timezone: fc.constantFrom(...ZONES),
    raise: fc.option(fc.record({ amount, until: fc.nat(2000).map((hours) => START + hours * HOUR) })),
  })
/** Any of a day, a week and a month. */
const budgets = fc
  .tuple(fc.option(budgetOf('day')), fc.option(budgetOf('week')), fc.option(budgetOf('month')))
  .map((some) => some.filter((one) => one !== null))
const POOLS = 8
const step = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({ do: fc.constant('hold'), pool: fc.nat(POOLS), amount: fc.nat(30), late: fc.nat(3) }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('capture'), pick: fc.nat(50), part: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('undo'), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release'), pick: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass'), hours: fc.nat(60) }) },
)
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

/** Late on the last but one day of a month, which ends in the middle of a week. */
const START = Date.UTC(2026, 8, 29, 20)

interface Pool {
  readonly id: PoolId
  readonly parent: number | null
  readonly limit: number | null
  readonly budgets: readonly PoolBudget[]
}

interface Call {
  readonly pool: number
  readonly at: number
  held: number
  charged: number
}

/** Pools below an account's own, in any tree, and what a bystander knows of their calls. */
class World {
  readonly holds = new MemoryHolds()
  readonly calls = new Map<RequestId, Call>()
  /** What the log would add to each pool. */
  readonly logged = new Map<PoolId, number>()
  readonly pools: Pool[] = []
  private readonly account = accountId()
  now = START

  async open(trees: readonly (Omit<Pool, 'id' | 'parent'> & { readonly under: number })[]): Promise<void> {
    await this.holds.openAccount(this.account)
    this.holds.credited({ account: this.account, part: 'credit', amount: micros(1_000_000), toppedUp: ZERO })
    for (const [i, { under, limit, budgets: own }] of trees.entries()) {
      const id = i === 0 ? accountPool(this.account) : poolId()
      const parent = i === 0 ? null : under % i
      this.pools.push({ id, parent, limit, budgets: own })
      await this.holds.openPool({
        id,
        account: this.account,
        limit: limit === null ? null : micros(limit),
        // The pool of the account is at the end of each chain without being named.
        parent: parent === null || parent === 0 ? null : (this.pools[parent]?.id ?? null),
        kind: i === 0 ? 'account' : 'key',
      })
      await this.holds.setPoolBudgets(id, own, this.now, [])
    }
  }

  chain(pool: number): number[] {
    const parent = this.pools[pool]?.parent ?? null
    return parent === null ? [pool] : [pool, ...this.chain(parent)]
  }

  /** The charges and holds of calls below a pool that began in a period. */
  counted(pool: number, from = 0, to = Number.POSITIVE_INFINITY) {
    const mine = [...this.calls.values()].filter(
      (call) => call.at >= from && call.at < to && this.chain(call.pool).includes(pool),
    )
    return {
      spent: mine.reduce((sum, call) => sum + call.charged, 0),
      held: mine.reduce((sum, call) => sum + call.held, 0),
    }
  }

  /** The first pool of a chain that has no room, and of what. */
  full(which: number, at: number, more: number): { pool: PoolId; window: unknown } | null {
    for (const one of this.chain(which)) {
      const { id, limit, budgets: own } = this.pools[one]!
      const all = this.counted(one)
      if (limit !== null && all.spent + all.held + more > limit) return { pool: id, window: null }
      for (const { period, timezone, limit: base, raise } of own) {
        const { start, end } = periodAround(at, period, timezone)
        const { spent, held } = this.counted(one, start, end)
        const most = base + (raise && at < raise.until ? raise.amount : 0)
        if (spent + held + more > most) return { pool: id, window: { period, limit: micros(most), startsAt: start } }
      }
    }
    return null
  }

  take(act: Step): void {
    if (act.do === 'pass') this.now += act.hours * HOUR
    else if (act.do === 'hold') this.hold(act.pool % this.pools.length, micros(act.amount), this.now - act.late * HOUR)
    else {
      const open = [...this.calls].filter(([, call]) => call.held > 0)
      const [request, call] = open[act.pick % Math.max(1, open.length)] ?? []
      if (!request || !call) return
      if (act.do === 'release') this.holds.release(request)
      else this.capture(request, call, act)
      call.held = 0
    }
  }

  private hold(pool: number, most: ReturnType<typeof micros>, at: number): void {
    const full = this.full(pool, at, most)
    const { account } = this
    const request = requestId()
    const id = this.pools[pool]?.id ?? null
    const granted = this.holds.hold({ request, account, pool: id, amount: most, creditPays: true, at })
    if (full) expect(granted).toMatchObject({ ok: false, error: full })
    else expect(granted.ok).toBe(true)
    if (granted.ok) this.calls.set(request, { pool, at, held: most, charged: 0 })
  }

  private capture(request: RequestId, call: Call, act: Extract<Step, { do: 'capture' | 'undo' }>): void {
    const cost = micros(act.do === 'undo' ? call.held : Math.floor((call.held * act.part) / 100))
    const fixed = this.holds.fix(request, cost)
    if (!fixed.ok || fixed.value.hold.pool === null) throw new Error('not fixed')
    const pool = fixed.value.hold.pool
    this.holds.captured(request, act.do === 'undo')
    if (act.do === 'undo') {
      const back = { account: this.account, part: 'credit' as const, amount: cost, toppedUp: ZERO, pool, at: call.at }
      this.holds.credited(back)
      return
    }
    call.charged = cost
    for (const id of [pool, ...(fixed.value.counted?.parents ?? [])])
      this.logged.set(id, (this.logged.get(id) ?? 0) + cost)
  }

  async check(): Promise<void> {
    for (const [which, { id, limit, budgets: own }] of this.pools.entries()) {
      const pool = await this.holds.pool(id, this.now)
      const all = this.counted(which)
      expect({ spent: Number(pool?.spent), held: Number(pool?.held) }).toEqual(all)
      expect(this.logged.get(id) ?? 0).toBe(all.spent)
      if (limit !== null) expect(all.spent + all.held).toBeLessThanOrEqual(limit)
      for (const [i, { period, timezone }] of own.entries()) {
        const { start, end } = periodAround(this.now, period, timezone)
        const { spent, held } = this.counted(which, start, end)
        const window = pool?.windows[i]
        expect(window).toMatchObject({ period, startsAt: start, endsAt: end, spent: micros(spent), held: micros(held) })
      }
    }
  }
}

const tree = fc.array(
  fc.record({ under: fc.nat(POOLS), limit: fc.option(fc.integer({ min: 1, max: 300 })), budgets }),
  {
    minLength: 2,
    maxLength: POOLS,
  },
)

test('in any tree of pools with any limits and budgets, a call is held exactly if it fits everywhere, the refusal names the pool and the period that it does not fit, and counters and log equal the calls', async () => {
  await fc.assert(
    fc.asyncProperty(tree, fc.array(step, { maxLength: 60, size: 'max' }), async (trees, steps) => {
      const world = new World()
      await world.open(trees)
      for (const act of steps) world.take(act)
      await world.check()
    }),
    { numRuns: 300 },
  )
}, 60_000)
