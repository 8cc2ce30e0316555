import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { MemoryHolds } from '../../server/adapters/stores/memory/holds'
import type { RequestId } from '../../server/core/ids'
import { micros, ZERO } from '../../server/core/money'
import { periodAround } from '../../server/core/usage/calendar'
import { accountId, poolId, requestId } from '../support/ledger-parts'

const HOUR = 3_600_000
const ZONES = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'] as const
const budgets = fc.record({
  limit: fc.integer({ min: 1, max: 100 }).map(micros),
  period: fc.constantFrom('day' as const, 'week' as const, 'month' as const),
  timezone: fc.constantFrom(...ZONES),
})
const step = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('hold' as const), amount: fc.nat(30), late: fc.nat(1000) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('capture' as const), pick: fc.nat(50), part: fc.nat(100) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('undo' as const), pick: fc.nat(50) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), pick: fc.nat(50) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), hours: fc.nat(40) }) },
)
const backAndForth = fc.oneof(
  { weight: 8, arbitrary: step },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pass' as const), hours: fc.integer({ min: -90, max: -1 }) }) },
)
type Step = typeof step extends fc.Arbitrary<infer A> ? A : never

interface Call {
  readonly at: number
  readonly held: number
  charged: number
  ended: boolean
}

/** One pool with a budget, and what a bystander knows of its calls. */
class World {
  /** Its counters rest before each hold. */
  readonly holds = new MemoryHolds()
  readonly calls = new Map<RequestId, Call>()
  readonly pool = poolId()
  private readonly account = accountId()
  now = Date.UTC(2026, 9, 20, 12)
  private furthest = this.now

  async open(): Promise<void> {
    await this.holds.openAccount(this.account)
    const amount = micros(1_000_000)
    this.holds.credited({ account: this.account, part: 'credit', amount, toppedUp: ZERO })
    await this.holds.openPool({ id: this.pool, account: this.account, limit: null })
  }

  async take(act: Step): Promise<'granted' | 'refused' | null> {
    if (act.do === 'pass') {
      // Five days behind the furthest at most: of so many the counter knows what was spent.
      this.now = Math.max(this.now + act.hours * HOUR, this.furthest - 120 * HOUR)
      this.furthest = Math.max(this.furthest, this.now)
    } else if (act.do === 'hold') return this.hold(act.amount, this.now - act.late)
    else {
      const [request, known] = [...this.calls].filter(([, call]) => !call.ended)[act.pick % 7] ?? []
      if (!request || !known) return null
      known.ended = true
      if (act.do === 'release') this.holds.release(request)
      else await this.capture(request, known, act)
    }
    return null
  }

  private async hold(amount: number, at: number): Promise<'granted' | 'refused'> {
    const asked = { request: requestId(), account: this.account, pool: this.pool, creditPays: true, at }
    const granted = this.holds.hold({ ...asked, amount: micros(amount) })
    if (granted.ok) this.calls.set(asked.request, { at, held: amount, charged: 0, ended: false })
    return granted.ok ? 'granted' : 'refused'
  }

  private async capture(request: RequestId, known: Call, act: Extract<Step, { do: 'capture' | 'undo' }>) {
    const amount = micros(act.do === 'undo' ? known.held : Math.floor((known.held * act.part) / 100))
    this.holds.fix(request, amount)
    this.holds.captured(request, act.do === 'undo')
    if (act.do === 'capture') known.charged = amount
    else
      this.holds.credited({
        account: this.account,
        part: 'credit',
        amount,
        toppedUp: ZERO,
        pool: this.pool,
        at: known.at,
      })
  }

  /** The charges and holds of calls that began in a period. */
  counted(from: number, to: number) {
    const mine = [...this.calls.values()].filter((call) => call.at >= from && call.at < to)
    return {
      spent: mine.reduce((sum, call) => sum + call.charged, 0),
      held: mine.reduce((sum, call) => sum + (call.ended ? 0 : call.held), 0),
    }
  }
}

test('in any order of calls, also when the clock goes back, a period never exceeds its budget, a call that fits is never refused, and the counters equal the calls', async () => {
  await fc.assert(
    fc.asyncProperty(budgets, fc.array(backAndForth, { maxLength: 80 }), async (budget, steps) => {
      const world = new World()
      await world.open()
      await world.holds.setPoolBudgets(world.pool, [budget], world.now, [])
      for (const act of steps) {
        const at = act.do === 'hold' ? world.now - act.late : world.now
        const period = periodAround(at, budget.period, budget.timezone)
        const before = world.counted(period.start, period.end)
        const verdict = await world.take(act)
        if (act.do === 'hold')
          expect(verdict).toBe(before.spent + before.held + act.amount <= budget.limit ? 'granted' : 'refused')
        const running = periodAround(world.now, budget.period, budget.timezone)
        const after = world.counted(running.start, running.end)
        expect(after.spent + after.held).toBeLessThanOrEqual(budget.limit)
        const window = (await world.holds.pool(world.pool, world.now))?.windows[0]
        expect(window).toEqual({
          period: budget.period,
          limit: budget.limit,
          startsAt: running.start,
          endsAt: running.end,
          spent: micros(after.spent),
          held: micros(after.held),
        })
      }
    }),
    { numRuns: 300 },
  )
})

test('a budget that changes during a period counts at least the calls of that period, and never lets them exceed it further', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof({ weight: 6, arbitrary: step }, { weight: 1, arbitrary: budgets }), { maxLength: 80 }),
      async (steps) => {
        const world = new World()
        await world.open()
        let over = 0
        for (const act of steps) {
          if (!('limit' in act)) await world.take(act)
          else {
            const period = periodAround(world.now, act.period, act.timezone)
            const inPeriod = micros(world.counted(period.start, period.end).spent)
            const inAll = micros(world.counted(0, Number.POSITIVE_INFINITY).spent)
            await world.holds.setPoolBudgets(world.pool, [act], world.now, [{ inPeriod, inAll }])
          }
          const window = (await world.holds.pool(world.pool, world.now))?.windows[0]
          if (!window) continue
          const { spent, held } = world.counted(window.startsAt, window.endsAt)
          expect(Number(window.spent)).toBeGreaterThanOrEqual(spent)
          expect(window.spent + window.held).toBeGreaterThanOrEqual(spent + held)
          if ('limit' in act) over = Math.max(window.limit, window.spent + window.held)
          expect(window.spent + window.held).toBeLessThanOrEqual(Math.max(over, window.limit))
        }
      },
    ),
    { numRuns: 300 },
  )
})
