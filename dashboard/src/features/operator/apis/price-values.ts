import type { ApiPrice } from '../../../api/apis.ts'
import { PRICE_FORM_TEXT as TEXT } from '../../../messages/price-form.ts'
import { costUsd, parseMicros } from '../../../ui/format/money.ts'

export const MODES = ['fixed', 'units', 'reported'] as const
export const FIGURES = ['pointer', 'header', 'characters', 'kilobytes', 'events'] as const
export const BILL_UNITS = ['usd', 'cents', 'micros', 'paid'] as const
type Figure = (typeof FIGURES)[number]

/** The values of the form of a price as entered. */
export interface PriceValues {
  readonly mode: ApiPrice['mode']
  readonly usd: string
  readonly figure: Figure
  readonly pointer: string
  readonly header: string
  readonly block: string
  readonly minimum: string
  readonly bound: 'number' | 'parameter'
  readonly maximum: string
  readonly parameter: string
  readonly unit: (typeof BILL_UNITS)[number]
  readonly multiplier: string
  readonly minimumUsd: string
  readonly maximumUsd: string
  readonly onMissing: string
}

export type PriceErrors = Partial<Record<keyof PriceValues, string>>

const EMPTY: PriceValues = {
  mode: 'fixed',
  usd: '0.01',
  figure: 'pointer',
  pointer: '',
  header: '',
  block: '1',
  minimum: '0',
  bound: 'number',
  maximum: '',
  parameter: '',
  unit: 'usd',
  multiplier: '1',
  minimumUsd: '',
  maximumUsd: '',
  onMissing: '',
}

/** The form of a price; without one, of a new price. */
export function priceValues(price: ApiPrice | null): PriceValues {
  if (!price) return EMPTY
  switch (price.mode) {
    case 'fixed':
      return { ...EMPTY, usd: price.usd }
    case 'units':
      return {
        ...EMPTY,
        mode: 'units',
        usd: price.usd,
        ...figureValues(price.count),
        block: String(price.block ?? 1),
        minimum: String(price.minimum ?? 0),
        maximum: String(price.maximum ?? ''),
        ...(price.maximum_from !== undefined && {
          bound: 'parameter' as const,
          parameter: price.maximum_from.replace(/^query\./, ''),
        }),
        onMissing: String(price.on_missing ?? ''),
      }
    case 'reported':
      return {
        ...EMPTY,
        mode: 'reported',
        unit: price.unit,
        multiplier: price.multiplier ?? '1',
        maximumUsd: price.maximum_usd,
        minimumUsd: price.minimum_usd ?? '',
        onMissing: price.on_missing ?? '',
        ...(price.header === undefined
          ? { figure: 'pointer' as const, pointer: price.pointer ?? '' }
          : { figure: 'header' as const, header: price.header }),
      }
  }
}

/** The errors of the form, by field. Only fields of the chosen mode are checked. */
export function validatePrice(values: PriceValues): PriceErrors {
  const errors: PriceErrors = {}
  const { mode, figure, bound } = values
  const amount = (field: 'usd' | 'maximumUsd') => {
    if (parseMicros(values[field]) === null) errors[field] = TEXT.amountWrong
  }
  const optionalAmount = (field: 'minimumUsd' | 'onMissing') => {
    if (values[field].trim() !== '' && parseMicros(values[field]) === null) errors[field] = TEXT.amountWrong
  }
  const whole = (field: 'block' | 'minimum' | 'maximum' | 'onMissing') => {
    if (countOf(values[field]) === null) errors[field] = TEXT.countWrong
  }
  if (mode !== 'reported') amount('usd')
  if (mode === 'fixed') return errors
  const hasFigure = mode === 'units' || values.unit !== 'paid'
  if (hasFigure && figure === 'pointer' && !values.pointer.startsWith('/')) errors.pointer = TEXT.pointerWrong
  if (hasFigure && figure === 'header' && values.header.trim() === '') errors.header = TEXT.headerNeeded
  if (mode === 'reported') {
    amount('maximumUsd')
    optionalAmount('minimumUsd')
    optionalAmount('onMissing')
    if (decimalOf(values.multiplier) === null) errors.multiplier = TEXT.multiplierWrong
    return errors
  }
  whole('block')
  whole('minimum')
  if (bound === 'number') whole('maximum')
  else if (values.parameter.trim() === '') errors.parameter = TEXT.parameterNeeded
  if (values.onMissing.trim() !== '') whole('onMissing')
  return errors
}

/** The price to send, of a valid form. */
export function toPrice(values: PriceValues): ApiPrice {
  const { mode, figure, bound, onMissing } = values
  const usd = plain(values.usd)
  const missing = onMissing.trim()
  switch (mode) {
    case 'fixed':
      return { mode, usd }
    case 'units':
      return {
        mode,
        usd,
        count: figureText(values),
        block: Number(values.block),
        minimum: Number(values.minimum),
        ...(bound === 'number'
          ? { maximum: Number(values.maximum) }
          : { maximum_from: `query.${values.parameter.trim()}` }),
        ...(missing !== '' && { on_missing: Number(missing) }),
      }
    case 'reported':
      return {
        mode,
        ...(values.unit !== 'paid' &&
          (figure === 'header' ? { header: values.header.trim() } : { pointer: values.pointer })),
        unit: values.unit,
        multiplier: values.multiplier.trim(),
        maximum_usd: plain(values.maximumUsd),
        ...(values.minimumUsd.trim() !== '' && { minimum_usd: plain(values.minimumUsd) }),
        ...(missing !== '' && { on_missing: plain(missing) }),
      }
  }
}

/** The price of one answer, in words; null while the form or the figure is incomplete. */
export function exampleOf(values: PriceValues, figure: string): string | null {
  if (Object.keys(validatePrice(values)).length > 0) return null
  const price = parseMicros(values.usd) ?? 0
  if (values.mode === 'fixed') return TEXT.exampleFixed(costUsd(price), costUsd(price * 1_000))
  if (values.mode === 'units') {
    const units = countOf(figure)
    if (units === null) return null
    const bounded = values.bound === 'number' ? Math.min(units, Number(values.maximum)) : units
    const blocks = Math.ceil(Math.max(bounded, Number(values.minimum)) / Number(values.block))
    return TEXT.exampleOfUnits(blocks.toLocaleString('en-US'), values.block.trim(), costUsd(blocks * price))
  }
  const bill = billMicros(values, figure)
  if (bill === null) return null
  const least = parseMicros(values.minimumUsd) ?? 0
  return TEXT.exampleOfBill(costUsd(Math.min(Math.max(bill, least), parseMicros(values.maximumUsd) ?? 0)))
}

const SCALES = { usd: 1_000_000n, cents: 10_000n, micros: 1n, paid: 1_000_000n } as const

/** The bill in micro-USD after the multiplier, exactly, rounded up once as the server does. */
function billMicros({ unit, multiplier }: PriceValues, figure: string): number | null {
  const [bill, factor] = [decimalOf(figure), decimalOf(multiplier)]
  if (!bill || !factor) return null
  const scaled = bill.digits * factor.digits * SCALES[unit]
  const divisor = 10n ** BigInt(bill.scale + factor.scale)
  return Number((scaled + divisor - 1n) / divisor)
}

function decimalOf(text: string): { readonly digits: bigint; readonly scale: number } | null {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text.trim())
  if (!match) return null
  const [, whole = '', decimals = ''] = match
  return { digits: BigInt(whole + decimals), scale: decimals.length }
}

function countOf(text: string): number | null {
  return /^\d{1,9}$/.test(text.trim()) ? Number(text) : null
}

function figureValues(count: string): Partial<PriceValues> {
  const named = FIGURES.find((figure) => figure === count)
  if (named) return { figure: named }
  if (count.startsWith('header:')) return { figure: 'header', header: count.slice('header:'.length) }
  return { figure: 'pointer', pointer: count }
}

function figureText({ figure, pointer, header }: PriceValues): string {
  if (figure === 'header') return `header:${header.trim()}`
  return figure === 'pointer' ? pointer : figure
}

/** The server takes amounts without a sign or spaces. */
function plain(usd: string): string {
  return usd.trim().replace(/^\$/, '')
}
