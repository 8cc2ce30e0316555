import type { Money } from '../money'
import type { ChargeLine } from '../usage/call-record'
import type { TokenPrice } from './token-price'

/** The price of a model that is not charged by tokens: by the characters it reads, the seconds it hears, its searches, or its pictures. */
export type UnitPrice = CountPrice | ImagePrice

/** What is counted: the member of an entry's price, and of a charge's line, and how many of them the amount is for. */
export const COUNTED_UNITS = {
  character: { item: 'characters', per: 1_000_000 },
  /** Of sound. */
  second: { item: 'seconds', per: 1_000_000 },
  /** A vendor's unit of ranking: a query with up to 100 short documents. */
  search: { item: 'searches', per: 1 },
} as const

export type CountedUnit = keyof typeof COUNTED_UNITS

export interface CountPrice {
  readonly unit: CountedUnit
  /** For `per` of them. */
  readonly amount: Money
}

export interface ImagePrice {
  readonly unit: 'image'
  /** Of one picture, whatever its size and quality; null if they are priced one by one. */
  readonly amount: Money | null
  readonly sizes: readonly SizePrice[]
  /** Of each picture that is sent to be edited; absent: edits are not sold. */
  readonly edits?: Money
}

/** The price of one picture of exactly this size and quality. Null: of a call that does not name it. */
export interface SizePrice {
  readonly size: string | null
  readonly quality: string | null
  readonly amount: Money
}

/** The price of a model. */
export type ModelPrice = TokenPrice | UnitPrice

/** `count`: the most; null if only the model's entry bounds it. `likely`: what counts if the answer does not say; absent: the most. */
export interface CountAsked {
  readonly unit: CountedUnit
  readonly count: number | null
  readonly likely?: number
}

/** The request of a call to a model with a unit price. */
export type UnitsAsked =
  | CountAsked
  | {
      readonly unit: 'image'
      readonly count: number
      readonly size: string | null
      readonly quality: string | null
      /** The pictures that are sent to be edited. */
      readonly sent?: number
    }

/** The first line is for what the answer brings, if it brings all that was asked for. Others do not depend on it, such as that for pictures that are sent. */
export type UnitLines = readonly [ChargeLine, ...ChargeLine[]]

/** The charge lines of a call, and the size and quality to set because the caller named none. */
export interface PricedUnits {
  readonly lines: UnitLines
  readonly defaults: Readonly<Record<string, string>>
}

export function isUnitPrice(price: ModelPrice): price is UnitPrice {
  return 'unit' in price
}

/** The item of the line for pictures that are sent to be edited. */
const SENT = 'edited_images'

/** The cost of a charge line's units at another price, such as the operator's own. Null if that price does not say. */
export function repricedLine(price: ModelPrice, line: ChargeLine): ChargeLine | null {
  if (!isUnitPrice(price)) return null
  const [unit, ...names] = line.item.split(' ')
  if (price.unit !== 'image')
    return unit === COUNTED_UNITS[price.unit].item ? { ...line, unitPrice: price.amount } : null
  if (unit === SENT) return price.edits === undefined ? null : { ...line, unitPrice: price.edits }
  const named = ({ quality, size }: SizePrice) => [quality, size].filter((name) => name !== null).join(' ')
  const amount = price.amount ?? price.sizes.find((one) => named(one) === names.join(' '))?.amount
  return unit === 'images' && amount !== undefined ? { ...line, unitPrice: amount } : null
}

/** The price per token of a model that writes text or vectors. */
export function tokenPriceOf({ id, price }: { readonly id: string; readonly price: ModelPrice }): TokenPrice {
  if (isUnitPrice(price)) throw new Error(`${id} has no price per token`)
  return price
}

/** The price of what a call asks for. Null if the model has no price for it, which is never free. */
export function pricedUnits(price: UnitPrice, asked: UnitsAsked): PricedUnits | null {
  if (price.unit !== 'image') {
    if (asked.unit !== price.unit || asked.count === null) return null
    return { lines: [{ ...COUNTED_UNITS[price.unit], units: asked.count, unitPrice: price.amount }], defaults: {} }
  }
  if (asked.unit !== 'image') return null
  const { size, quality, count: units, sent } = asked
  const others: ChargeLine[] = []
  if (sent !== undefined) {
    if (price.edits === undefined) return null
    others.push({ item: SENT, units: sent, unitPrice: price.edits, per: 1 })
  }
  if (price.amount !== null)
    return { lines: [{ item: 'images', units, unitPrice: price.amount, per: 1 }, ...others], defaults: {} }
  const found = price.sizes.find(
    (one) => (size === null || size === one.size) && (quality === null || quality === one.quality),
  )
  if (!found) return null
  const named = [found.quality, found.size].filter((name) => name !== null)
  return {
    lines: [{ item: ['images', ...named].join(' '), units, unitPrice: found.amount, per: 1 }, ...others],
    defaults: {
      ...(size === null && found.size !== null && { size: found.size }),
      ...(quality === null && found.quality !== null && { quality: found.quality }),
    },
  }
}
