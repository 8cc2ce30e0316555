import type { ApiPrice } from '../../core/apis/api'
import { upstreamCostOf } from '../../core/apis/api-report'
import { decimalOf } from '../../core/apis/prices/decimal'
import { isSuccess, ReadAnswer } from '../../core/apis/prices/figure'
import { apiCharge, maximumUnits } from '../../core/apis/prices/price'
import { ZERO } from '../../core/money'
import type { EndCode } from '../../core/usage/call-record'
import { type Meter, type StreamDeps, type StreamEnd, type StreamSale, settledStream } from '../stream'
import type { Charge, OpenCall, WorkResult } from '../work'
import { type ApiSale, NO_FIGURE, WRONG_ANSWER } from './api-sale'
import type { ApiStream } from './ask-api'
import { SecretGuard } from './secret-guard'

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

const NOTHING = new Uint8Array()
const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const DATA = new TextEncoder().encode('data')
const COLON = 58

/** How a stream is counted. `lines`: each line that is not empty is an event. */
export type StreamUnits = 'bytes' | 'kilobytes' | 'events' | 'lines'

/** How a price counts a stream of this content type. Null: it cannot. */
export function streamUnits(price: ApiPrice, contentType: string): StreamUnits | null {
  if (price.mode === 'fixed') return 'bytes'
  if (price.mode === 'reported') return null
  switch (price.figure.kind) {
    case 'kilobytes':
      return 'kilobytes'
    case 'events':
      if (contentType === 'text/event-stream') return 'events'
      return /^application\/([\w.-]+\+)?(ndjson|jsonl|x-ndjson|json-seq)$/.test(contentType) ? 'lines' : null
    default:
      return null
  }
}

/** Counts what passes of an imported operation's stream, and lets no more pass than its maximum price pays for. */
export class ApiStreamMeter implements Meter {
  readonly ending = NOTHING
  readonly hasFailed = false
  bytes = 0
  isFull = false
  isComplete = false
  private readonly units: StreamUnits
  private readonly maximum: number
  private readonly events: EventCounter

  constructor(units: StreamUnits, price: ApiPrice, numberOf: (parameter: string) => number) {
    this.units = units
    this.maximum = price.mode === 'units' ? maximumUnits(price.maximum, numberOf) : Number.POSITIVE_INFINITY
    this.events = new EventCounter(units === 'lines')
  }

  push(chunk: Uint8Array): Uint8Array {
    const passes = chunk.subarray(0, this.room(chunk))
    this.bytes += passes.length
    if (passes.length < chunk.length) this.isFull = true
    return passes
  }

  close(): Uint8Array {
    this.isComplete = !this.isFull
    return NOTHING
  }

  /** The units that passed. A broken one counts. */
  get count(): number {
    if (this.units === 'bytes') return this.bytes
    return this.units === 'kilobytes' ? Math.ceil(this.bytes / 1024) : this.events.count
  }

  private room(chunk: Uint8Array): number {
    if (this.units === 'bytes') return chunk.length
    if (this.units === 'kilobytes') return Math.min(chunk.length, this.maximum * 1024 - this.bytes)
    return this.events.push(chunk, this.maximum)
  }
}

/** Counts the events of a text/event-stream (blocks with a `data` line, ended by an empty line), or lines that are not empty. */
class EventCounter {
  private readonly isLines: boolean
  private ended = 0
  /** Bytes of the current line, and how many of them may still be the name `data`; -1: it is no data line. */
  private length = 0
  private named = 0
  private hasData = false
  private wasReturn = false

  constructor(isLines: boolean) {
    this.isLines = isLines
  }

  get count(): number {
    return this.ended + (this.hasData || this.isData ? 1 : 0)
  }

  /** Reads up to the end of the event that reaches the maximum. Returns how many bytes those are. */
  push(chunk: Uint8Array, maximum: number): number {
    for (let at = 0; at < chunk.length; at++) {
      const byte = chunk[at] ?? 0
      // The line feed of a line end that was counted at its carriage return.
      const isRest = byte === LINE_FEED && this.wasReturn
      if (this.ended >= maximum && !isRest) return at
      this.wasReturn = byte === CARRIAGE_RETURN
      if (isRest) continue
      if (byte === LINE_FEED || byte === CARRIAGE_RETURN) this.endLine()
      else this.readByte(byte)
    }
    return chunk.length
  }

  private readByte(byte: number): void {
    if (this.named >= 0 && this.named < DATA.length) this.named = byte === DATA[this.named] ? this.named + 1 : -1
    else if (this.named === DATA.length && this.length === DATA.length && byte !== COLON) this.named = -1
    this.length++
  }

  private get isData(): boolean {
    return this.isLines ? this.length > 0 : this.named === DATA.length
  }

  private endLine(): void {
    const isEmpty = this.length === 0
    if (this.isData) this.hasData = true
    if (this.hasData && (isEmpty || this.isLines)) {
      this.ended++
      this.hasData = false
    }
    this.length = 0
    this.named = 0
  }
}
