import type { Static } from '@sinclair/typebox'
import type { ApiPrice, Figure } from '../../core/apis/api'
import { MAX_UNITS } from '../../core/apis/prices/price-rules'
import { isJson } from '../../core/json'
import { formatUsd, type Money, parseUsd, ZERO } from '../../core/money'
import { readable } from '../middleware/input/validate-body'
import { brokenRule, checked, form, named, oneOf, text, whole } from '../openapi/json-schema'

const UNITS = { minimum: 0, maximum: MAX_UNITS }

function usdText(description: string) {
  return checked<string>({ type: 'string', description, pattern: '^\\d{1,10}(\\.\\d{1,6})?$' }, (value) =>
    typeof value === 'string' && parseUsd(value) !== null ? null : 'must be US dollars as text, such as "0.01"',
  )
}

const MULTIPLIER = checked<string>(
  { type: 'string', description: 'The factor on what the upstream reports, such as "1.2". Default: "1".' },
  (value) =>
    typeof value === 'string' && /^\d{1,6}(\.\d{1,6})?$/.test(value) ? null : 'must be a factor as text, such as "1.2"',
)

const Fixed = form('The same for every call.', {
  mode: oneOf(['fixed'], 'A fixed price.'),
  usd: usdText('US dollars per call, such as "0.01".'),
})

const Units = form(
  'Per block of units, which are counted in the answer.',
  {
    mode: oneOf(['units'], 'A price per unit.'),
    usd: usdText('US dollars per block.'),
    count: text(
      'What counts: a JSON Pointer to a list or a number (`/data`), `header:NAME`, `characters`, `kilobytes`, or `events` of a stream.',
      { minLength: 1, maxLength: 300 },
    ),
    block: whole('Units per block; a broken block counts as a whole one. Default: 1.', { ...UNITS, minimum: 1 }),
    minimum: whole('Units that are charged at least. Default: 0.', UNITS),
    maximum: whole('Units that are charged at most. Needed, unless `maximum_from` is there.', { ...UNITS, minimum: 1 }),
    maximum_from: text(
      'Or the query parameter that bounds them, such as `query.limit`: an integer with minimum, maximum and default.',
      { pattern: '^query\\..+', maxLength: 110 },
    ),
    on_missing: whole(
      'Units of a write whose answer has no figure. Needed for writes, refused for reads: they are free then.',
      UNITS,
    ),
  },
  ['block', 'minimum', 'maximum', 'maximum_from', 'on_missing'],
)

const Reported = form(
  "What the upstream's answer says that it cost.",
  {
    mode: oneOf(['reported'], "The upstream's own bill."),
    pointer: text('A JSON Pointer to the figure, such as `/cost`. Or `header`.', { maxLength: 200 }),
    header: text('The response header with the figure.', { minLength: 1, maxLength: 100 }),
    unit: oneOf(
      ['usd', 'cents', 'micros', 'paid'],
      'The unit of the figure. `paid`: what the upstream was paid for the call, with `auth` 402.',
    ),
    multiplier: MULTIPLIER,
    minimum_usd: usdText('US dollars that are charged at least. Default: "0".'),
    maximum_usd: usdText('US dollars that are charged at most, and held before the call.'),
    on_missing: usdText(
      'US dollars for a write whose answer has no figure. Needed for writes, refused for reads: they are free then.',
    ),
  },
  ['pointer', 'header', 'multiplier', 'minimum_usd', 'on_missing'],
)

const MODES = { fixed: Fixed, units: Units, reported: Reported }
export type PriceRecord = Static<typeof Fixed> | Static<typeof Units> | Static<typeof Reported>

/** The price of an imported operation, in forms and in records. */
export const PriceRecord = named(
  'ApiPrice',
  checked<PriceRecord>(
    {
      anyOf: Object.values(MODES),
      description:
        'What a call costs. The maximum must follow from the price or from the request, because it is held before the upstream is called.',
    },
    priceRule,
  ),
)

function priceRule(value: unknown): string | null {
  const mode = isJson(value) ? value['mode'] : undefined
  if (mode !== 'fixed' && mode !== 'units' && mode !== 'reported')
    return 'must be an object with the mode fixed, units or reported'
  const broken = brokenRule(MODES[mode], value)
  if (broken !== null) return broken
  const { count, maximum, maximum_from, pointer, header, unit } = Object(value)
  if (mode === 'units') {
    if ((maximum === undefined) === (maximum_from === undefined)) return UNBOUNDED
    return parseFigure(String(count))
      ? null
      : 'count must be a JSON Pointer, header:NAME, characters, kilobytes or events'
  }
  if (mode !== 'reported') return null
  if (unit === 'paid')
    return pointer === undefined && header === undefined ? null : 'has the unit paid, so it has no pointer or header'
  return (pointer === undefined) === (header === undefined) ? 'needs a pointer or a header' : null
}

const UNBOUNDED = 'needs maximum or maximum_from: without a bound, nothing can be held before the call'

/** The price of core, of one that its schema has validated. */
export function apiPriceOf(price: PriceRecord): ApiPrice {
  switch (price.mode) {
    case 'fixed':
      return { mode: 'fixed', amount: usd(price.usd) }
    case 'units': {
      const { count, block = 1, minimum = 0, maximum, maximum_from = '', on_missing = null } = price
      const parameter = maximum_from.slice('query.'.length)
      return {
        mode: 'units',
        amount: usd(price.usd),
        figure: readable(parseFigure(count)),
        block,
        minimum,
        maximum: maximum ?? { parameter },
        onMissing: on_missing,
      }
    }
    case 'reported': {
      const { pointer = '', header, unit, multiplier = '1', minimum_usd, maximum_usd, on_missing } = price
      const read: Figure =
        header === undefined ? { kind: 'pointer', pointer } : { kind: 'header', name: header.toLowerCase() }
      const counted =
        unit === 'paid' ? ({ figure: { kind: 'paid' }, unit: 'micros' } as const) : ({ figure: read, unit } as const)
      return {
        mode: 'reported',
        ...counted,
        multiplier,
        maximum: usd(maximum_usd),
        minimum: minimum_usd === undefined ? ZERO : usd(minimum_usd),
        onMissing: on_missing === undefined ? null : usd(on_missing),
      }
    }
  }
}

/** The same as operators and buyers see it. */
export function priceRecordOf(price: ApiPrice): PriceRecord {
  switch (price.mode) {
    case 'fixed':
      return { mode: 'fixed', usd: formatUsd(price.amount) }
    case 'units': {
      const { amount, figure, block, minimum, maximum, onMissing } = price
      return {
        mode: 'units',
        usd: formatUsd(amount),
        count: figureText(figure),
        block,
        minimum,
        ...(typeof maximum === 'number' ? { maximum } : { maximum_from: `query.${maximum.parameter}` }),
        ...(onMissing !== null && { on_missing: onMissing }),
      }
    }
    case 'reported': {
      const { figure, unit, multiplier, minimum, maximum, onMissing } = price
      return {
        mode: 'reported',
        ...(figure.kind === 'header' && { header: figure.name }),
        ...(figure.kind === 'pointer' && { pointer: figure.pointer }),
        unit: figure.kind === 'paid' ? 'paid' : unit,
        multiplier,
        minimum_usd: formatUsd(minimum),
        maximum_usd: formatUsd(maximum),
        ...(onMissing !== null && { on_missing: formatUsd(onMissing) }),
      }
    }
  }
}

function parseFigure(text: string): Figure | null {
  if (text === 'characters' || text === 'kilobytes' || text === 'events') return { kind: text }
  if (text.startsWith('header:')) return { kind: 'header', name: text.slice('header:'.length).toLowerCase() }
  return text.startsWith('/') ? { kind: 'pointer', pointer: text } : null
}

function figureText(figure: Figure): string {
  if (figure.kind === 'header') return `header:${figure.name}`
  return figure.kind === 'pointer' ? figure.pointer : figure.kind
}

function usd(text: string): Money {
  return readable(parseUsd(text))
}

const MAX_PRICES = 2000

/** Prices by the id of an operation, or by its method and path. */
export const Prices = checked<Readonly<Record<string, PriceRecord>>>(
  {
    type: 'object',
    description: 'Prices of single operations, by id or as `GET /v1/forecast`.',
    additionalProperties: PriceRecord,
    maxProperties: MAX_PRICES,
  },
  (value) => {
    if (!isJson(value) || Object.keys(value).length > MAX_PRICES)
      return `must be an object of at most ${MAX_PRICES} prices`
    for (const [name, price] of Object.entries(value)) {
      const broken = priceRule(price)
      if (broken !== null) return `${name.slice(0, 100)} ${broken}`
    }
    return null
  },
)
