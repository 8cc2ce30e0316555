import { type Money, micros, minus, ZERO } from '../money'
import type { Flow } from './accounting'

export const REVENUE_GROUPINGS = ['day', 'operation', 'model', 'account', 'rail'] as const
export type RevenueGrouping = (typeof REVENUE_GROUPINGS)[number]

/** UTC days since 1970-01-01, `end` exclusive. */
export interface RevenueQuestion {
  readonly first: number
  readonly end: number
  readonly grouping: Exclude<RevenueGrouping, 'rail'> | null
}

/** The revenue and the cost of calls. */
export interface RevenueSums {
  /** Successful calls. */
  readonly calls: number
  /** Net of charges that were reversed. */
  readonly charged: Money
  /** Given back to customers later by an operator. */
  readonly refunded: Money
  /** Of the calls whose cost is known. */
  readonly upstreamCost: Money
  readonly unknownCostCalls: number
}

export interface RevenueRow extends RevenueSums {
  /** A day such as 2026-11-23, an operation, a model, or the id of an account. Empty where there is none. */
  readonly name: string
}

/** Calls that were paid for one by one, by payment method. */
export interface SalesByMethod extends RevenueSums {
  readonly method: string
}

/** Reads revenue from the durable sums of usage, from payments and from the ledger. */
export interface RevenueReports {
  rows(question: RevenueQuestion): Promise<readonly RevenueRow[]>
  sales(question: Pick<RevenueQuestion, 'first' | 'end'>): Promise<readonly SalesByMethod[]>
}

export const NO_REVENUE: RevenueSums = {
  calls: 0,
  charged: ZERO,
  refunded: ZERO,
  upstreamCost: ZERO,
  unknownCostCalls: 0,
}

export function addedRevenue(a: RevenueSums, b: RevenueSums): RevenueSums {
  return {
    calls: a.calls + b.calls,
    charged: micros(a.charged + b.charged),
    refunded: micros(a.refunded + b.refunded),
    upstreamCost: micros(a.upstreamCost + b.upstreamCost),
    unknownCostCalls: a.unknownCostCalls + b.unknownCostCalls,
  }
}

export function revenueOf({ charged, refunded }: RevenueSums): Money {
  return minus(charged, refunded)
}

/** Money that was given away, and what it bought; what upstreams cost above the holds of calls. */
export interface Givings {
  readonly signupCredit: Money
  readonly grants: Money
  /** Taken back by debits. */
  readonly debits: Money
  /** The charges paid from signup credit and grants. */
  readonly creditUsed: Money
  readonly overruns: Money
}

export function givingsOf(flows: readonly Flow[]): Givings {
  const sum = (matches: (flow: Flow) => boolean) =>
    micros(flows.reduce((total, flow) => total + (matches(flow) ? flow.amount : 0), 0))
  const ofKind = (kind: Flow['kind']) => sum((flow) => flow.kind === kind)
  return {
    signupCredit: ofKind('signup_credit'),
    grants: ofKind('grant'),
    debits: ofKind('debit'),
    creditUsed: chargedFrom(flows, 'customers/credit').amount,
    overruns: ofKind('overrun'),
  }
}

/** The charges from one part of all customers' balances, less refunds. */
export function chargedFrom(
  flows: readonly Flow[],
  part: 'customers/credit' | 'customers/paid',
): { readonly calls: number; readonly amount: Money; readonly refunded: Money } {
  let [calls, charged, refunded] = [0, 0, 0]
  for (const { kind, debit, credit, amount, entries } of flows) {
    if (kind === 'charge' && debit === part) {
      calls += entries
      charged += amount
    } else if (kind === 'reversal' && credit === part) {
      calls -= entries
      charged -= amount
    } else if (kind === 'charge_refund' && credit === part) refunded += amount
  }
  return { calls, amount: micros(charged - refunded), refunded: micros(refunded) }
}
