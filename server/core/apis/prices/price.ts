import { formatUsd, type Money, micros, min, minus, times, ZERO } from '../../money'
import { err, ok, type Result } from '../../result'
import type { Charged } from '../../usage/call-record'
import type { ApiPrice, UnitBound } from '../api'
import { type Decimal, multiplied, parseDecimal, roundedUp } from './decimal'

/** A price at the moment of a call: its stored version, and the amount that an operator may have set for everyone or for one account. */
export interface CallPrice {
  readonly price: ApiPrice
  readonly version: string
}

/** The charge of a call, at most its hold. */
export interface ApiCharge {
  readonly charged: Charged
  /** The upstream's claim beyond the maximum, which the house bears. */
  readonly overrun: Money
}

/** The maximum that a call can cost. It is held before the upstream is called. `numberOf` gives the value of an integer parameter. */
export function maximumOf(price: ApiPrice, numberOf: (parameter: string) => number): Money {
  switch (price.mode) {
    case 'fixed':
      return price.amount
    case 'units':
      return times(price.amount, blocksOf(price, maximumUnits(price.maximum, numberOf)))
    case 'reported':
      return price.maximum
  }
}

/** The minimum that a success can cost, whatever its answer reports. */
export function minimumOf(price: ApiPrice): Money {
  switch (price.mode) {
    case 'fixed':
      return price.amount
    case 'units':
      return times(price.amount, blocksOf(price, 0))
    case 'reported':
      return price.minimum
  }
}

/**
 * The charge for a figure of the answer: at most the maximum, at least the minimum, rounded up once. `figure` null: the answer has none;
 * then what the price says for it is charged, or, where it says nothing, there is no charge and the answer is not served.
 */
export function apiCharge(
  { price, version }: CallPrice,
  figure: Decimal | null,
  numberOf: (parameter: string) => number,
): Result<ApiCharge, 'no_figure'> {
  switch (price.mode) {
    case 'fixed':
      return ok({
        charged: { cost: price.amount, priceVersion: version, units: 1, unitPrice: price.amount },
        overrun: ZERO,
      })
    case 'units':
      return unitCharge(price, version, figure, numberOf)
    case 'reported':
      return reportedCharge(price, version, figure)
  }
}

/** The most units that are charged. */
export function maximumUnits(bound: UnitBound, numberOf: (parameter: string) => number): number {
  return typeof bound === 'number' ? bound : numberOf(bound.parameter)
}

type UnitPrice = Extract<ApiPrice, { mode: 'units' }>

/** Broken blocks count as whole ones; fewer units than the minimum count as the minimum. */
function blocksOf({ block, minimum }: UnitPrice, units: number): number {
  return Math.ceil(Math.max(units, minimum) / block)
}

function unitCharge(
  price: UnitPrice,
  version: string,
  figure: Decimal | null,
  numberOf: (parameter: string) => number,
): Result<ApiCharge, 'no_figure'> {
  const { amount, block, minimum, onMissing } = price
  const reported = figure && roundedUp(figure)
  const units = figure === null ? onMissing : (reported ?? Number.MAX_SAFE_INTEGER)
  if (units === null) return err('no_figure')
  const most = maximumUnits(price.maximum, numberOf)
  const counted = Math.min(units, most)
  const blocks = blocksOf(price, counted)
  const cost = times(amount, blocks)
  // Without a figure, the upstream claims nothing: `on_missing` may be above the maximum of this request.
  const beyond = figure === null ? cost : safely(BigInt(blocksOf(price, units)) * BigInt(amount))
  const item = [
    `${counted} units`,
    ...(figure === null ? ['(not reported)'] : []),
    ...(counted < minimum ? [`at least ${minimum}`] : []),
    ...(units > most ? [`at most ${most}`] : []),
    ...(block > 1 ? [`in blocks of ${block}`] : []),
  ].join(', ')
  return ok({
    charged: {
      cost,
      priceVersion: version,
      units: blocks,
      unitPrice: amount,
      lines: [{ item, units: blocks, unitPrice: amount, per: 1 }],
    },
    overrun: beyond > cost ? minus(beyond, cost) : ZERO,
  })
}

const SCALE_OF = { usd: '1000000', cents: '10000', micros: '1' } as const

function reportedCharge(
  price: Extract<ApiPrice, { mode: 'reported' }>,
  version: string,
  figure: Decimal | null,
): Result<ApiCharge, 'no_figure'> {
  const { unit, multiplier, minimum, maximum, onMissing } = price
  const claimed = figure === null ? onMissing : claim(figure, unit, multiplier)
  if (claimed === null) return err('no_figure')
  const floored = micros(Math.max(claimed, minimum))
  const cost = min(floored, maximum)
  const item = [
    figure === null ? `${formatUsd(claimed)} USD (not reported)` : `reported ${text(figure)} ${unit} x ${multiplier}`,
    ...(claimed < minimum ? [`at least ${formatUsd(minimum)} USD`] : []),
    ...(floored > maximum ? [`at most ${formatUsd(maximum)} USD`] : []),
  ].join(', ')
  return ok({
    charged: {
      cost,
      priceVersion: version,
      units: 1,
      unitPrice: cost,
      lines: [{ item, units: 1, unitPrice: cost, per: 1 }],
    },
    overrun: minus(floored, cost),
  })
}

/** One rounding, up, after the multiplier. */
function claim(figure: Decimal, unit: keyof typeof SCALE_OF, multiplier: string): Money {
  const factor = parseDecimal(multiplier)
  const scale = parseDecimal(SCALE_OF[unit])
  if (!factor || !scale) throw new Error(`the multiplier ${multiplier} is not a decimal`)
  return micros(roundedUp(multiplied(multiplied(figure, factor), scale)) ?? Number.MAX_SAFE_INTEGER)
}

function safely(amount: bigint): Money {
  return micros(amount > BigInt(Number.MAX_SAFE_INTEGER) ? Number.MAX_SAFE_INTEGER : Number(amount))
}

function text({ digits, scale }: Decimal): string {
  if (scale === 0) return digits.toString()
  const padded = digits.toString().padStart(scale + 1, '0')
  return `${padded.slice(0, -scale)}.${padded.slice(-scale)}`
}
