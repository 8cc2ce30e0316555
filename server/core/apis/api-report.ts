import { type Money, micros, ZERO } from '../money'
import type { Api, ApiOperation } from './api'
import type { PaymentSum } from './payments/upstream-payment'
import { parseDecimal } from './prices/decimal'

/** Calls of one imported operation: with keys and apps, over all accounts, and those that were paid for one by one. */
export interface OperationUsage {
  /** `{api}.{id}`, also of operations that were removed. */
  readonly operation: string
  readonly calls: number
  /** Calls that succeeded and were charged. */
  readonly served: number
  /** Calls that ended with a 5xx: the upstream or the gateway failed. */
  readonly failed: number
  readonly charged: Money
  /** What was given back of charges in that time. */
  readonly refunded: Money
  /** The same counts since a later time. */
  readonly recentCalls: number
  readonly recentFailed: number
}

/**
 * Reads usage of imported operations from the durable sums, off the request thread. `from` counts from the start of its day in UTC,
 * `recentFrom` from the start of its quarter of an hour.
 */
export type ReadOperationUsage = (from: number, recentFrom: number) => Promise<readonly OperationUsage[]>

/** The revenue of calls, and their upstream cost; null if not known. */
export interface ApiFigures extends Omit<OperationUsage, 'operation'> {
  readonly upstreamCost: Money | null
}

export interface ApiReport extends ApiFigures {
  readonly name: string
  /** Payments to its upstream, by their state. */
  readonly payments: readonly PaymentSum[]
  readonly operations: readonly (ApiFigures & { readonly name: string })[]
}

const NO_FIGURES: ApiFigures = {
  calls: 0,
  served: 0,
  failed: 0,
  charged: ZERO,
  refunded: ZERO,
  recentCalls: 0,
  recentFailed: 0,
  upstreamCost: ZERO,
}

/** The figures of each API and its operations, including those that it no longer has. */
export function apiReports(
  apis: readonly Api[],
  usage: readonly OperationUsage[],
  paid: readonly PaymentSum[],
): readonly ApiReport[] {
  return apis.map(({ name, operations }) => {
    const own = new Map(operations.map((operation) => [operation.name as string, operation]))
    const called = usage
      .filter(({ operation }) => operation.startsWith(`${name}.`))
      .map(({ operation, ...counts }) => ({
        ...counts,
        name: operation,
        upstreamCost: upstreamCost(own.get(operation), counts),
      }))
    const payments = paid.filter(({ api }) => api === name)
    return { name, ...called.reduce<ApiFigures>(sum, NO_FIGURES), operations: called, payments }
  })
}

/**
 * The operator's cost of successful calls: the declared cost, or the figure that the price passes on, before its multiplier. The latter
 * is exact unless a minimum or maximum was charged.
 */
function upstreamCost(
  operation: ApiOperation | undefined,
  { served, charged }: Pick<OperationUsage, 'served' | 'charged'>,
): Money | null {
  if (served === 0) return ZERO
  if (!operation) return null
  if (operation.upstreamCost !== null) return product(operation.upstreamCost, served)
  return upstreamCostOf(operation, charged) ?? null
}

/**
 * The upstream cost of a successful call with this charge: the declared cost, or the figure that the price passes on, before its multiplier.
 * Undefined if neither says.
 */
export function upstreamCostOf(
  { price, upstreamCost: each }: Pick<ApiOperation, 'price' | 'upstreamCost'>,
  charged: Money,
): Money | undefined {
  if (each !== null) return each
  const multiplier = price.mode === 'reported' ? parseDecimal(price.multiplier) : null
  if (!multiplier || multiplier.digits === 0n) return undefined
  return micros(Number((BigInt(charged) * 10n ** BigInt(multiplier.scale)) / multiplier.digits))
}

/** Never beyond what a sum of money can be. */
function product(each: Money, count: number): Money {
  const exact = BigInt(each) * BigInt(count)
  return micros(exact > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(exact))
}

function sum(a: ApiFigures, b: ApiFigures): ApiFigures {
  return {
    calls: a.calls + b.calls,
    served: a.served + b.served,
    failed: a.failed + b.failed,
    charged: micros(a.charged + b.charged),
    refunded: micros(a.refunded + b.refunded),
    recentCalls: a.recentCalls + b.recentCalls,
    recentFailed: a.recentFailed + b.recentFailed,
    upstreamCost: a.upstreamCost === null || b.upstreamCost === null ? null : micros(a.upstreamCost + b.upstreamCost),
  }
}
