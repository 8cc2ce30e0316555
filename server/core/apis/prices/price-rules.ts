import { isCount, isJson } from '../../json'
import type { Api, ApiOperation, ApiPrice, Figure } from '../api'
import { isPointer } from './figure'

/** No call may cost more than this, whatever the units. */
const MAX_CALL_MICROS = 1_000_000_000_000
/** Of a figure, in one call. */
export const MAX_UNITS = 1_000_000_000

type Priced = Pick<ApiOperation, 'effect' | 'answer' | 'parameters' | 'price'>
type Auth = Pick<Api, 'auth'>

/**
 * Why an operation cannot be sold at its price, or null. The maximum that a call can cost must follow from the price or from the
 * request, and a write must say what it costs when its figure is missing: it has taken effect by then. A read must not: it is free then.
 */
export function priceProblem(operation: Priced, { auth }: Auth): string | null {
  const { price, effect, answer } = operation
  if (effect === 'read' && price.mode !== 'fixed' && price.onMissing !== null)
    return 'has on_missing, which is for writes only: a read whose answer has no figure is free'
  const isPaid = price.mode === 'reported' && price.figure.kind === 'paid'
  if (isPaid !== (auth.kind === '402'))
    return isPaid
      ? 'has the unit paid, which needs the auth 402'
      : 'must be reported, with the unit paid: the auth is 402'
  if (isPaid) return answer === 'whole' ? reportedProblem(price) : 'of a stream cannot be what its upstream is paid'
  if (price.mode === 'fixed') return price.amount > MAX_CALL_MICROS ? TOO_MUCH : null
  const figure = figureProblem(price.figure, answer)
  if (figure) return figure
  if (effect === 'write' && price.onMissing === null)
    return 'needs on_missing: a write that was done must cost something known when the answer has no figure'
  return price.mode === 'units' ? unitsProblem(price, operation) : reportedProblem(price)
}

/** The price of an operation with this effect: what it says of missing figures is for writes. */
export function priceFor(effect: ApiOperation['effect'], price: ApiPrice): ApiPrice {
  return effect === 'write' || price.mode === 'fixed' || price.onMissing === null
    ? price
    : { ...price, onMissing: null }
}

const TOO_MUCH = 'must not let one call cost more than 1000000 USD'

function unitsProblem(price: Extract<ApiPrice, { mode: 'units' }>, { parameters }: Priced): string | null {
  const { block, minimum, maximum, onMissing, amount } = price
  if (!isUnits(block) || block < 1) return 'needs a block of at least 1 unit'
  if (!isUnits(minimum)) return 'needs a minimum of at least 0 units'
  const most = typeof maximum === 'number' ? maximum : boundOf(parameters, maximum.parameter)
  if (typeof most === 'string') return most
  if (!isUnits(most) || most < 1) return 'needs a maximum of at least 1 unit'
  if (minimum > most) return 'has a minimum above its maximum'
  if (onMissing !== null && (!isUnits(onMissing) || onMissing > most)) return 'has an on_missing above its maximum'
  return Math.ceil(most / block) * amount > MAX_CALL_MICROS ? TOO_MUCH : null
}

function reportedProblem({ multiplier, minimum, maximum, onMissing }: Extract<ApiPrice, { mode: 'reported' }>) {
  if (!/^\d{1,6}(\.\d{1,6})?$/.test(multiplier) || Number(multiplier) <= 0)
    return 'needs a multiplier above 0 such as "1.2", with at most 6 decimals'
  if (maximum <= 0) return 'needs a maximum_usd above 0'
  if (minimum > maximum) return 'has a minimum_usd above its maximum_usd'
  if (onMissing !== null && onMissing > maximum) return 'has an on_missing above its maximum_usd'
  return maximum > MAX_CALL_MICROS ? TOO_MUCH : null
}

/** The maximum of a parameter that bounds a price, or why it does not bound it. */
function boundOf(parameters: ApiOperation['parameters'], name: string): number | string {
  const parameter = parameters.find((one) => one.name === name && one.in === 'query')
  const schema = parameter && isJson(parameter.schema) ? parameter.schema : null
  if (!parameter || !schema) return `names ${name} as its bound, which is no query parameter of the operation`
  const { type, minimum, maximum } = schema
  const bounded = type === 'integer' && isUnits(minimum) && minimum >= 1 && isUnits(maximum) && maximum >= minimum
  if (!bounded) return `names ${name} as its bound, which must be an integer with a minimum of at least 1 and a maximum`
  const value = parameter.default
  if (!isUnits(value) || value < minimum || value > maximum)
    return `names ${name} as its bound, which must have a default from ${minimum} to ${maximum}: it is sent when the caller omits it`
  return maximum
}

function figureProblem(figure: Figure, answer: ApiOperation['answer']): string | null {
  const passes = figure.kind === 'kilobytes' || figure.kind === 'events'
  if (answer === 'stream' && !passes) return 'of a stream must be fixed, or count kilobytes or events'
  if (figure.kind === 'events' && answer !== 'stream') return 'counts events, which only a stream has'
  if (figure.kind === 'header' && !/^[a-z0-9][a-z0-9-]{0,99}$/.test(figure.name))
    return 'names something that is not a header'
  if (figure.kind === 'pointer' && !isPointer(figure.pointer)) return 'must count at a JSON Pointer such as /data'
  return null
}

function isUnits(value: unknown): value is number {
  return isCount(value) && value <= MAX_UNITS
}
