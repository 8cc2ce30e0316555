import type { ApiOperation } from '../../core/apis/api'
import { upstreamCostOf } from '../../core/apis/api-report'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer } from '../../core/apis/prices/figure'
import { apiCharge, type CallPrice } from '../../core/apis/prices/price'
import { ZERO } from '../../core/money'
import type { EndCode } from '../../core/usage/call-record'
import { type StreamDeps, type StreamSale, settledStream } from '../stream'
import type { Charge, OpenCall, WorkResult } from '../work'
import { type ApiSale, NO_FIGURE, WRONG_ANSWER } from './api-sale'
import type { ApiStream } from './ask-api'
import { guardedBody } from './secret-guard'
import { ApiStreamMeter, streamUnits } from './stream-meter'

/**
 * Passes an upstream's stream on: charged its fixed price if it reaches its end, or by the bytes or events that passed, however it ends
 * (spec D12). Whether it is a success follows from its status and headers.
 */
export function streamed(
  deps: StreamDeps,
  { match: { api, operation }, price, input: { numberOf } }: ApiSale,
  open: OpenCall,
  { status, headers, contentType, body, secrets }: ApiStream,
  /** Gives the slot back and closes the connection. May be called repeatedly. */
  close: () => void,
): WorkResult {
  const refused = (problem: typeof NO_FIGURE): WorkResult => {
    close()
    return { kind: 'failed', failure: problem, didNothing: false }
  }
  if (!isSuccess(operation.success, new ReadAnswer({ status, body: new Uint8Array(), header: () => null })))
    return refused(WRONG_ANSWER)
  const units = streamUnits(price.price, contentType)
  if (units === null) return refused(NO_FIGURE)
  const meter = new ApiStreamMeter(units, price.price, numberOf)
  const sale = streamSale(price, meter, numberOf, operation)
  const upstream = `api ${api.name}`
  const onLeak = () => deps.onTrouble(upstream, `${operation.name}: the stream contained our own secret`)
  const head = { status: status === 204 || status === 205 ? 200 : status, headers }
  const source = {
    upstream,
    contentType,
    head,
    close,
    idleMs: api.timeoutMs,
    drainMs: api.timeoutMs,
    body: guardedBody(body, secrets, onLeak),
  }
  return {
    kind: 'stream',
    ...head,
    lost: chargeOf(price, 0, numberOf, 'gateway_restarted'),
    open: () => settledStream(deps, open, source, sale),
    close,
  }
}

function streamSale(
  price: CallPrice,
  meter: ApiStreamMeter,
  numberOf: (parameter: string) => number,
  operation: ApiOperation,
): StreamSale {
  const isFixed = price.price.mode === 'fixed'
  const bought = (charge: Charge): Charge => ({
    ...charge,
    upstreamCost: upstreamCostOf(operation, charge.charged.cost),
  })
  const passed = (code: EndCode | null) => bought(chargeOf(price, meter.count, numberOf, code))
  return {
    meter,
    isWrite: operation.effect === 'write',
    chargesBroken: !isFixed,
    stopsWithCaller: null,
    // Each unit is worth a write, so that a death of this process loses as little as possible.
    get progress() {
      return isFixed ? 0 : meter.count * 8192
    },
    get hasBegun() {
      return meter.bytes > 0
    },
    lost: () => (isFixed ? null : passed('gateway_restarted')),
    charge: ({ isWhole, code }) =>
      isFixed || (isWhole && meter.count === 0) ? bought(full(price, meter, numberOf, code)) : passed(code),
    errorEvent: () => null,
  }
}

/** The charge for the units that passed; nothing if none did. */
function chargeOf(
  price: CallPrice,
  units: number,
  numberOf: (parameter: string) => number,
  code: EndCode | null,
): Charge {
  const { charged } = priced(price, units, numberOf)
  if (units > 0) return { charged, code }
  return { charged: { ...charged, cost: ZERO, units: 0, lines: [] }, code }
}

function full(
  price: CallPrice,
  meter: ApiStreamMeter,
  numberOf: (parameter: string) => number,
  code: EndCode | null,
): Charge {
  return { charged: priced(price, meter.count, numberOf).charged, code }
}

function priced(price: CallPrice, units: number, numberOf: (parameter: string) => number) {
  const charge = apiCharge(price, decimalOf(units), numberOf)
  if (!charge.ok) throw new Error('a stream is counted, so it has a figure')
  return charge.value
}
