import { isoTime } from '../../core/clock'
import { type Failure, failure, uncharged } from '../../core/failure'
import type { PoolId } from '../../core/ids'
import type { BudgetWindow, Hold, HoldRefusal, HoldRequest } from '../../core/ledger/hold'
import type { Ledger } from '../../core/ledger/ledger'
import { formatUsd } from '../../core/money'
import { err, ok, type Result } from '../../core/result'
import type { CallRecord } from '../../core/usage/call-record'
import { countedOn, type Quote } from '../call'
import type { Captured } from '../work'
import type { Capture, Funding, Priced, Reservation } from './funding'

/** A person decides, so a call in the same minute is hardly worth it. */
const REVIEW_SECONDS = 60

/**
 * Pays from the prepaid balance, within the key's spending limit. Where signup credit buys only some of an operation's sources,
 * topped-up money is spent first, since it buys all of them; an account without any gets the sources that credit buys.
 */
export function balanceFunding(ledger: Ledger): Funding {
  return {
    reserve(work, { caller, incoming }) {
      if (caller.kind === 'anonymous') throw new Error('balance funding got an anonymous caller')
      const { account } = caller
      const { poolId } = countedOn(caller)
      const { id: request, at } = incoming
      const amount = work.quote.maxCost
      const wanted = { request, account: account.id, pool: poolId, amount, creditPays: work.credit === 'all', at }
      const held = ledger.hold(wanted)
      if (held instanceof Promise || !held.ok) return reserveLater(ledger, wanted, work, caller.kind, held)
      return ok(new BalanceReservation(ledger, held.value, false))
    },
  }
}

/** A hold that waits for its counters or for a repayment, or is refused. */
async function reserveLater(
  ledger: Ledger,
  wanted: HoldRequest & { readonly pool: PoolId },
  { quote, credit }: Priced,
  caller: 'key' | 'app',
  holding: ReturnType<Ledger['hold']>,
): Promise<Result<Reservation, Failure>> {
  const first = await holding
  const isCredit = credit === 'part' && !first.ok && first.error === 'insufficient_paid_balance'
  const held = isCredit ? await ledger.hold({ ...wanted, creditPays: true }) : first
  if (held.ok) return ok(new BalanceReservation(ledger, held.value, isCredit))
  if (held.error !== 'budget_exhausted') return err(refusal(held.error, quote, caller))
  return err(budgetUsedUp(await ledger.budget(wanted.pool), quote, wanted.at))
}

const NOT_RECORDED = uncharged('service_unavailable', 'The charge could not be recorded. Try again.', {
  retryAfterSeconds: 1,
})

class BalanceReservation implements Reservation {
  readonly isCredit: boolean
  private readonly ledger: Ledger
  private readonly held: Hold

  constructor(ledger: Ledger, held: Hold, isCredit: boolean) {
    this.ledger = ledger
    this.held = held
    this.isCredit = isCredit
  }

  async capture({ amount, record, overrun, answer }: Capture): Promise<Result<Captured, Failure>> {
    if (!record) throw new Error('a call of a known caller needs a usage record')
    const captured = await this.ledger.capture(amount, record, overrun, answer)
    return captured.ok ? ok({ cost: amount, receipt: null }) : err(NOT_RECORDED)
  }

  persist(call: CallRecord): Promise<boolean> {
    return this.ledger.keep({ hold: this.held, call })
  }

  release(): Promise<void> | null {
    return this.ledger.release(this.held.request)
  }
}

function costOf({ maxCost, fixed }: Quote): string {
  return `This request costs ${fixed ? '' : 'at most '}${formatUsd(maxCost)} USD`
}

function budgetUsedUp(window: BudgetWindow | null, quote: Quote, now: number) {
  // The budget may have been removed since the refusal: then the next call may succeed.
  const endsAt = window?.endsAt ?? now
  return failure(
    'quota_exceeded',
    `${costOf(quote)}; the key's budget leaves less than that until ${isoTime(endsAt)}.`,
    { retryAfterSeconds: Math.max(1, Math.ceil((endsAt - now) / 1000)), limitSource: 'key' },
  )
}

function refusal(reason: Exclude<HoldRefusal, 'budget_exhausted'>, quote: Quote, caller: 'key' | 'app') {
  const { maxCost, fixed } = quote
  const cost = costOf(quote)
  const price = fixed ? { price: maxCost } : {}
  switch (reason) {
    case 'pool_exhausted':
      return failure(
        'insufficient_api_key_balance',
        `${cost}; the spending limit of this ${caller} has less than that left. Raise the limit.`,
        price,
      )
    case 'parent_exhausted':
      return failure(
        'insufficient_api_key_balance',
        `${cost}; the spending limit of the app that created this key has less than that left. Raise that limit.`,
        price,
      )
    case 'insufficient_balance':
      return failure(
        'insufficient_balance',
        `${cost}; the account balance is lower than that. Top up the balance.`,
        price,
      )
    case 'account_under_review':
      return uncharged(
        'account_under_review',
        'An earlier charge of this account could not be booked, and the operator of this gateway has to decide about it. Until then its calls are refused.',
        { retryAfterSeconds: REVIEW_SECONDS },
      )
    case 'insufficient_paid_balance':
      return failure('insufficient_balance', `${cost}; signup credit cannot be used for it. Top up the balance.`, price)
  }
}
