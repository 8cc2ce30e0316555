import { expect, test } from 'bun:test'
import { rm } from 'node:fs/promises'
import fc from 'fast-check'
import { CardTopUps } from '../../server/core/accounts/cards/card-top-ups'
import { TopUps } from '../../server/core/accounts/top-ups'
import type { AccountId } from '../../server/core/ids'
import type { Journal } from '../../server/core/ledger/journal'
import { Ledger } from '../../server/core/ledger/ledger'
import { type Money, micros, ZERO } from '../../server/core/money'
import type { CardCheckout, CardReturn } from '../../server/core/payments/card-checkout'
import { isUnavailable } from '../../server/core/unavailable'
import { gate, ioError, openFaulty } from '../adapters/stores/faulty-writes'
import { testDatabase } from '../support/databases/test-database'
import { call, NOON, openTestStores, requestId } from '../support/ledger-parts'
import { reconcile } from '../support/reconcile'
import { until } from '../support/until'

const PAGES = 3
const PRICE = 20_000_000
const which = fc.nat(PAGES - 1)
const step = fc.oneof(
  { weight: 1, arbitrary: fc.record({ do: fc.constant('pay' as const), which }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('return' as const),
      which,
      kind: fc.constantFrom('refund' as const, 'dispute' as const),
      // Pending, or taken at once; several of one payment.
      amount: fc.constantFrom(0, 3_000_000, 7_000_000, PRICE),
    }),
  },
  // Won, failed, lost after all: what a return takes now.
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('turn' as const), pick: fc.nat(9), amount: fc.constantFrom(0, 7_000_000) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('tell' as const), which, times: fc.integer({ min: 1, max: 3 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constant('call' as const), cost: fc.integer({ min: 1, max: 9_000_000 }) }),
  },
  { weight: 2, arbitrary: fc.constant({ do: 'wait' as const }) },
)
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never
const fault = fc.constantFrom('none', 'none', 'none', 'error before', 'error after', 'late', 'late error')

/** The processor: what is true, whatever a message said. */
class Processor implements CardCheckout {
  readonly pages: { readonly id: string; isPaid: boolean; returns: (CardReturn & { amount: Money })[] }[] = []

  async open() {
    const page = { id: `cs_${this.pages.length}`, isPaid: false, returns: [] }
    this.pages.push(page)
    return { id: page.id, url: '', expiresAt: NOON }
  }

  async state(id: string) {
    const isPaid = this.page(id).isPaid
    const payment = isPaid ? id : null
    return {
      state: isPaid ? ('paid' as const) : ('open' as const),
      amount: micros(PRICE),
      currency: 'USD',
      payment,
      topUp: null,
    }
  }

  async pageOf(payment: string) {
    return payment
  }

  async returns(payment: string) {
    return this.page(payment).returns.map((given) => ({ ...given }))
  }

  async topUpOn() {
    return null
  }

  async *pagesBetween() {}

  async *returnedBetween() {}

  async refund() {
    return { kind: 'refused', reason: 'nobody asks for one here' } as const
  }

  async message() {
    return null
  }

  /** The balance that follows from all true facts. */
  get total(): number {
    const paid = this.pages.filter(({ isPaid }) => isPaid)
    return paid.reduce((sum, { returns }) => returns.reduce((left, { amount }) => left - amount, sum + PRICE), 0)
  }

  page(id: string) {
    const found = this.pages.find((page) => page.id === id)
    if (!found) throw new Error(`no page ${id}`)
    return found
  }
}

test('payments, refunds, disputes, calls and their messages in any order, twice, at once, with commits that fail or are lost: the balance is what the processor says', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { minLength: 20, maxLength: 60, size: 'max' }),
      fc.array(fault, { minLength: 1, maxLength: 20 }),
      async (steps, faults) => {
        const { folder, account, balance, expected } = await live(steps, faults)
        try {
          expect(Number(balance?.paid) - Number(balance?.debt)).toBe(expected)
          expect(balance?.held).toBe(ZERO)
          expect((await reconcile(await testDatabase(folder, `${folder}/gateway.db`))).problems).toEqual([])
          const reopened = await openTestStores({ folder })
          expect(await reopened.holds.balance(account)).toEqual(balance)
          await reopened.close()
        } finally {
          await rm(folder, { recursive: true, force: true })
        }
      },
    ),
    // A failure that depends on time does not repeat in a smaller example.
    { numRuns: 8, endOnFailure: true },
  )
}, 180_000)

type Faulty = Awaited<ReturnType<typeof openFaulty>>

/** Every group meets the next fault; a late one goes on when somebody was told that its outcome is unknown. */
function breakWrites({ faults }: Faulty, kinds: readonly string[]) {
  let late = gate()
  let groups = 0
  let current = 'none'
  let over = false
  faults.before = async () => {
    current = over ? 'none' : (kinds[groups++ % kinds.length] ?? 'none')
    if (current.startsWith('late')) await late.opened
    if (current === 'error before' || current === 'late error') throw ioError()
  }
  faults.after = () => {
    if (current === 'error after') throw ioError()
  }
  return {
    goOn() {
      late.open()
      late = gate()
    },
    end() {
      over = true
      late.open()
    },
  }
}

/** One life of a gateway. Ends when every page was told of once more, with writes that work. */
async function live(steps: readonly Step[], kinds: readonly string[]) {
  const parts = await openFaulty({ patienceMs: 5 }, true)
  const account: AccountId = await parts.account(1)
  const writes = breakWrites(parts, kinds)
  const journal = {
    note: () => undefined,
    append: (...[record, onEnd]: Parameters<Journal['append']>) =>
      parts.journal.append(record, (outcome) => {
        if (outcome.kind === 'unknown') writes.goOn()
        onEnd(outcome)
      }),
  }
  const clock = { now: () => NOON }
  const { holds, bookings, paymentClaims: claims } = parts
  const ledger = new Ledger({ holds, journal, bookings, clock, onReversalFailure: () => undefined })
  const card = new Processor()
  const onTrouble = () => undefined
  const topUps = new TopUps({ claims, ledger, clock })
  const cards = new CardTopUps({ card, claims, ledger, clock, onTrouble, topUps, unknown: parts.unknownCheckouts })
  for (let page = 0; page < PAGES; page++) await cards.open(account, '', micros(PRICE), requestId())
  const tell = async (page: number): Promise<boolean> => {
    try {
      const id = `cs_${page}`
      await cards.follow(page % 2 === 0 ? { kind: 'page', id } : { kind: 'payment', payment: id })
      return true
    } catch (error) {
      if (!isUnavailable(error)) throw error
      return false
    }
  }
  const under: Promise<unknown>[] = []
  const spend = async (cost: number) => {
    const request = requestId()
    const amount = micros(cost)
    const held = await ledger.hold({ request, account, pool: null, amount, creditPays: false, at: NOON })
    if (held.ok) await ledger.capture(amount, call(account, cost, { id: request }))
  }
  for (const act of steps) {
    if (act.do === 'pay') card.page(`cs_${act.which}`).isPaid = true
    else if (act.do === 'return')
      card
        .page(`cs_${act.which}`)
        .returns.push({ kind: act.kind, id: requestId(), amount: micros(act.amount), ours: null, state: 'succeeded' })
    else if (act.do === 'turn') {
      const all = card.pages.flatMap(({ returns }) => returns)
      const given = all[act.pick % Math.max(1, all.length)]
      if (given) given.amount = micros(act.amount)
    } else if (act.do === 'tell') for (let n = 0; n < act.times; n++) under.push(tell(act.which))
    else if (act.do === 'call') under.push(spend(act.cost))
    else await new Promise((resolve) => setImmediate(resolve))
    const balance = await holds.balance(account)
    expect(Number(balance?.debt)).toBeGreaterThanOrEqual(0)
    expect(Number(balance?.available)).toBeGreaterThanOrEqual(0)
  }
  await Promise.all(under)
  writes.end()
  await parts.journal.drained()
  // A message is sent until it is taken in; a commit that takes longer than our patience is one of unknown outcome.
  for (let page = 0; page < PAGES; page++)
    await until(async () => {
      if (await tell(page)) return true
      await parts.journal.drained()
      return false
    })
  const [row] = await parts.db.all<{ spent: number }>(
    `SELECT coalesce(sum(iif(kind = 'charge', amount, -amount)), 0) AS spent FROM entries WHERE request_id IS NOT NULL`,
  )
  const expected = card.total - Number(row?.spent)
  const balance = await holds.balance(account)
  await parts.close()
  return { folder: parts.folder, account, balance, expected }
}
