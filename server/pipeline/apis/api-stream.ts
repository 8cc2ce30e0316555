import { upstreamCostOf } from '../../core/apis/api-report'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer } from '../../core/apis/prices/figure'
import { apiCharge } from '../../core/apis/prices/price'
import { ZERO } from '../../core/money'
import type { EndCode } from '../../core/usage/call-record'
import { type StreamDeps, type StreamEnd, type StreamSale, settledStream } from '../stream'
import type { Charge, OpenCall, WorkResult } from '../work'
import { type ApiSale, NO_FIGURE, WRONG_ANSWER } from './api-sale'
import type { ApiStream } from './ask-api'
import { SecretGuard } from './secret-guard'
import { ApiStreamMeter, type StreamUnits, streamUnits } from './stream-meter'

/**
 * Passes an upstream's stream on: charged its fixed price if it reaches its end, or by the bytes or events that passed, however it ends
 * (spec D12). Whether it is a success follows from its status and headers.
 */
export function streamed(
  deps: StreamDeps,
  sold: ApiSale,
  open: OpenCall,
  { status, headers, contentType, body, secrets }: ApiStream,
  /** Gives the slot back and closes the connection. May be called repeatedly. */
  close: () => void,
): WorkResult {
  const { api, operation } = sold.match
  const refused = (problem: typeof NO_FIGURE): WorkResult => {
    close()
    return { kind: 'failed', failure: problem, didNothing: false }
  }
  if (!isSuccess(operation.success, new ReadAnswer({ status, body: new Uint8Array(), headers: new Headers() })))
    return refused(WRONG_ANSWER)
  const units = streamUnits(sold.price.price, contentType)
  if (units === null) return refused(NO_FIGURE)
  const sale = new ApiStreamSale(sold, units)
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
    body,
    guard: new SecretGuard(secrets, onLeak),
  }
  return {
    kind: 'stream',
    ...head,
    lost: sale.chargeOf(0, 'gateway_restarted'),
    open: () => settledStream(deps, open, source, sale),
    close,
  }
}

class ApiStreamSale implements StreamSale {
  readonly stopsWithCaller = null
  readonly isWrite: boolean
  /** Without a fixed price, the part that passed is charged. */
  readonly chargesBroken: boolean
  readonly meter: ApiStreamMeter
  private readonly sold: ApiSale

  constructor(sold: ApiSale, units: StreamUnits) {
    const { match, price, input } = sold
    this.sold = sold
    this.meter = new ApiStreamMeter(units, price.price, input.numberOf)
    this.isWrite = match.operation.effect === 'write'
    this.chargesBroken = price.price.mode !== 'fixed'
  }

  /** Each unit is worth a write, so that a death of this process loses as little as possible. */
  get progress(): number {
    return this.chargesBroken ? this.meter.count * 8192 : 0
  }

  get hasBegun(): boolean {
    return this.meter.bytes > 0
  }

  lost(): Charge | null {
    return this.chargesBroken ? this.bought(this.chargeOf(this.meter.count, 'gateway_restarted')) : null
  }

  charge({ isWhole, code }: StreamEnd): Charge {
    const { count } = this.meter
    return this.bought(this.chargeOf(count, code, !this.chargesBroken || (isWhole && count === 0)))
  }

  errorEvent(): null {
    return null
  }

  private bought(charge: Charge): Charge {
    return { ...charge, upstreamCost: upstreamCostOf(this.sold.match.operation, charge.charged.cost) }
  }

  /** The charge for the units that passed. For none it is nothing, unless the stream is `whole`. */
  chargeOf(units: number, code: EndCode | null, whole = false): Charge {
    const { price, input } = this.sold
    const priced = apiCharge(price, decimalOf(units), input.numberOf)
    if (!priced.ok) throw new Error('a stream is counted, so it has a figure')
    const { charged } = priced.value
    return { charged: units > 0 || whole ? charged : { ...charged, cost: ZERO, units: 0, lines: [] }, code }
  }
}
