import { describe, expect, test } from 'bun:test'
import fc from 'fast-check'
import { MemoryHolds } from '../../server/adapters/stores/memory/holds'
import { auditEntry } from '../../server/core/audit'
import type { RequestId } from '../../server/core/ids'
import { Ledger } from '../../server/core/ledger/ledger'
import { type Money, micros } from '../../server/core/money'
import { accountId, call, NOON, poolId, requestId } from '../support/ledger-parts'
import { RandomJournal } from './random-journal'

const pick = fc.nat(50)
const amount = fc.integer({ min: 0, max: 60 })
const action = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('hold' as const), pool: pick, amount, creditPays: fc.boolean() }),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('capture' as const), pick, amount, whole: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), pick }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('credit' as const),
      account: pick,
      amount: fc.integer({ min: 1, max: 90 }),
      paid: fc.boolean(),
      reference: fc.nat(8),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('takeBack' as const),
      account: pick,
      amount: fc.integer({ min: 1, max: 120 }),
      reference: fc.nat(8),
      lost: fc.boolean(),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('debit' as const, 'takeAvailable' as const),
      account: pick,
      amount: fc.integer({ min: 1, max: 120 }),
      reference: fc.nat(8),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('refundCharge' as const),
      pick,
      amount: fc.option(fc.integer({ min: 1, max: 60 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('limit' as const), pool: pick, limit: fc.option(fc.nat(200)) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant('answer' as const),
      pick,
      how: fc.constantFrom('committed' as const, 'committed' as const, 'refused' as const, 'unknown' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('tell' as const),
      pick,
      fate: fc.constantFrom('committed' as const, 'refused' as const),
    }),
  },
)
type Action = typeof action extends fc.Arbitrary<infer A> ? A : never

const AUDIT = auditEntry({ at: 1, actor: { kind: 'operator', id: 'test', address: null }, action: 'account.grant' })

/** The test's knowledge of a request from the ledger's answers alone. */
interface Known {
  readonly account: number
  readonly amount: Money
  readonly pool: number | null
  /** The charge that it was told. */
  charged: number | null
  released: boolean
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

class World {
  readonly journal = new RandomJournal()
  /** Its counters rest before each hold. */
  readonly holds = new MemoryHolds()
  readonly alarms: string[] = []
  readonly ledger = new Ledger({
    holds: this.holds,
    journal: this.journal,
    bookings: this.journal,
    clock: { now: () => 1 },
    onReversalFailure: (request) => this.alarms.push(request),
  })
  readonly accounts = [accountId(), accountId()]
  /** Two pools of the first account, one of the second. */
  readonly pools = [0, 0, 1].map((account) => ({ id: poolId(), account, limit: null as number | null }))
  readonly requests = new Map<RequestId, Known>()
  readonly under: Promise<unknown>[] = []

  async open(): Promise<void> {
    for (const account of this.accounts) await this.holds.openAccount(account)
    for (const pool of this.pools)
      await this.holds.openPool({ id: pool.id, account: this.accounts[pool.account] ?? 'acct_', limit: null })
  }

  /** Starts an action; nothing waits for its end. */
  start(act: Action): void {
    this.under.push(this.begin(act))
  }

  private async begin(act: Action): Promise<unknown> {
    switch (act.do) {
      case 'answer':
        return this.journal.answer(act.pick, act.how)
      case 'tell':
        return this.journal.tell(act.pick, act.fate)
      case 'hold':
        return this.hold(act)
      case 'capture':
        return this.capture(act)
      case 'release':
        return this.release(act.pick)
      case 'limit':
        return this.limit(act)
      case 'credit':
        return this.ledger.credit({
          account: this.accounts[act.account % 2] ?? 'acct_',
          part: act.paid ? 'paid' : 'credit',
          kind: act.paid ? 'top_up' : 'grant',
          amount: micros(act.amount),
          description: '',
          reference: `${act.reference}`,
        })
      case 'takeBack':
        return this.ledger.takeBack({
          account: this.accounts[act.account % 2] ?? 'acct_',
          kind: act.lost ? 'dispute' : 'refund',
          amount: micros(act.amount),
          description: '',
          reference: `back ${act.reference}`,
        })
      case 'debit':
        return this.ledger.debit({ ...this.taken(act), audit: AUDIT })
      case 'takeAvailable':
        return this.ledger.takeBackAvailable({ ...this.taken(act), kind: 'refund' })
      case 'refundCharge': {
        const [request, known] = this.choose(act.pick)
        if (!request || !known) return
        const account = this.accounts[known.account] ?? 'acct_'
        const amount = act.amount === null ? null : micros(act.amount)
        return this.ledger.refundCharge({ account, request, amount, description: '', audit: AUDIT })
      }
    }
  }

  private taken(act: {
    readonly account: number
    readonly amount: number
    readonly reference: number
    readonly do: string
  }) {
    const account = this.accounts[act.account % 2] ?? 'acct_'
    return { account, amount: micros(act.amount), description: '', reference: `${act.do} ${act.reference}` } as const
  }

  private async hold(act: Extract<Action, { do: 'hold' }>): Promise<void> {
    const index = act.pool % 4
    const pool = this.pools[index]
    const account = pool?.account ?? 0
    const asked = {
      request: requestId(),
      account: this.accounts[account] ?? 'acct_',
      pool: pool?.id ?? null,
      amount: micros(act.amount),
      creditPays: act.creditPays,
      at: NOON,
    } as const
    const limit = pool?.limit ?? null
    const granted = await this.ledger.hold(asked)
    if (!granted.ok) return
    this.requests.set(asked.request, {
      account,
      amount: asked.amount,
      pool: pool ? index : null,
      charged: null,
      released: false,
    })
    if (!pool || limit === null) return
    const now = await this.holds.pool(pool.id, NOON)
    expect(Number(now?.spent) + Number(now?.held)).toBeLessThanOrEqual(limit)
  }

  private async capture(act: Extract<Action, { do: 'capture' }>): Promise<void> {
    const [id, known] = this.choose(act.pick)
    if (!id || !known) return
    const wanted = micros(act.whole ? known.amount : act.amount)
    const before = known.charged
    const captured = await this.ledger.capture(wanted, call(this.accounts[known.account] ?? 'acct_', wanted, { id }))
    if (captured.ok) {
      expect(wanted).toBeLessThanOrEqual(known.amount)
      expect(known.released).toBe(false)
      if (known.charged !== null) expect(known.charged).toBe(wanted)
      known.charged = wanted
      expect(this.journal.charged(id)).toBe(wanted)
    } else if (captured.error === 'exceeds_hold') expect(wanted).toBeGreaterThan(known.amount)
    else if (captured.error === 'settled_differently') expect(known.charged).not.toBe(wanted)
    else if (before !== null) throw new Error(`a repeated capture was answered ${captured.error}`)
  }

  private async release(which: number): Promise<void> {
    const [id, known] = this.choose(which)
    if (!id || !known) return
    const before = (await this.holds.balance(this.accounts[known.account] ?? 'acct_'))?.held ?? 0
    await this.ledger.release(id)
    const after = (await this.holds.balance(this.accounts[known.account] ?? 'acct_'))?.held ?? 0
    if (known.amount > 0 && after < before) known.released = true
  }

  private async limit({ pool: which, limit }: Extract<Action, { do: 'limit' }>): Promise<void> {
    const pool = this.pools[which % 3]
    if (!pool) return
    pool.limit = limit
    await this.holds.setPoolLimit(pool.id, limit === null ? null : micros(limit))
  }

  private choose(which: number): [RequestId | undefined, Known | undefined] {
    const all = [...this.requests]
    return all[which % Math.max(1, all.length)] ?? [undefined, undefined]
  }

  /** Between two steps everything agrees: the counters follow the journal, and no balance is below zero. */
  async check(): Promise<void> {
    for (const id of this.accounts) {
      const balance = await this.holds.balance(id)
      if (!balance) throw new Error('no account')
      expect(balance.available).toBeGreaterThanOrEqual(0)
      expect(balance.held).toBeGreaterThanOrEqual(0)
      expect(balance.debt).toBeGreaterThanOrEqual(0)
      expect(balance.posted).toBe(micros(balance.credit + balance.paid - balance.debt))
      expect(Number(balance.available)).toBe(balance.debt > 0 ? 0 : balance.posted - balance.held)
      expect(Number(balance.toppedUp)).toBe(this.journal.counter(id, 'toppedUp'))
      for (const part of ['credit', 'paid', 'debt'] as const) {
        expect(Number(balance[part])).toBe(this.journal.posted(id, part))
        expect(this.journal.counter(id, part)).toBe(this.journal.posted(id, part))
      }
    }
    for (const { id } of this.pools) {
      const pool = await this.holds.pool(id, NOON)
      expect(Number(pool?.spent)).toBe(this.journal.spent(id))
      expect(pool?.held).toBeGreaterThanOrEqual(0)
    }
  }

  /** Ends everything that is under way, then every hold. */
  async finish(fates: readonly ('committed' | 'refused')[]): Promise<void> {
    for (let i = 0; !this.journal.isIdle; i++) {
      const fate = fates[i % Math.max(1, fates.length)] ?? 'committed'
      this.journal.answer(i, fate)
      this.journal.tell(i, fate)
      await settled()
    }
    await Promise.all(this.under)
    for (const id of this.requests.keys()) await this.ledger.release(id)
    await settled()
  }
}

describe('the ledger, under any events in any order', () => {
  test('never holds more than the balance, agrees with its journal after every step, and charges exactly what it reported', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(action, { minLength: 20, maxLength: 90, size: 'max' }),
        fc.array(fc.constantFrom('committed' as const, 'refused' as const), { maxLength: 9 }),
        async (actions, fates) => {
          const world = new World()
          await world.open()
          for (const account of [0, 1]) {
            world.start({ do: 'credit', account, amount: 90, paid: account === 1, reference: 100 + account })
            world.journal.answer(0, 'committed')
          }
          for (const act of actions) {
            world.start(act)
            await settled()
            await world.check()
          }
          await world.finish(fates)
          await world.check()
          for (const account of world.accounts) expect((await world.holds.balance(account))?.held).toBe(micros(0))
          for (const pool of world.pools) expect((await world.holds.pool(pool.id, NOON))?.held).toBe(micros(0))
          // A caller who was told ok pays just that; every other one, the unknown included, pays nothing in the end.
          for (const [id, known] of world.requests) {
            expect(world.journal.charged(id)).toBe(known.charged ?? 0)
            expect(world.journal.refunded(id)).toBeLessThanOrEqual(known.charged ?? 0)
          }
          expect(world.alarms).toEqual([])
        },
      ),
      { numRuns: 250 },
    )
  }, 30_000)
})
