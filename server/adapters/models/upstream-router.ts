import { uncharged } from '../../core/failure'
import { Shares, TIMES_THE_TIER } from '../../core/limits/shares'
import { type Model, type ModelUpstream, modelAt, upstreamName } from '../../core/models/model'
import type { VendorKeyOf } from '../../core/models/model-vendors'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import type { BackendAnswer, BackendCall, ModelBackend, UpstreamState } from '../../pipeline/models/model-backend'
import { serves } from '../../pipeline/models/wires/model-wire'
import { Attempt, type AttemptParts, type Place } from './attempt'
import { Breaker } from './breaker'
import { FirstByteTime } from './first-byte-time'
import { openHttp } from './http-upstream'
import { openSandbox } from './sandbox/sandbox-upstream'
import type { VendorRefusal } from './vendor'

export interface UpstreamRouterOptions {
  /** Returns our key by the name of its environment variable; null if it is not set. */
  readonly keyOf: (env: string) => string | null
  readonly vendorKeyOf: VendorKeyOf
  readonly now: () => number
  readonly onTrouble: (upstream: string, reason: string) => void
  readonly telemetry: Pick<Telemetry, 'upstreamEnded'>
  /** Waits before one more try. */
  readonly pause?: (ms: number) => Promise<void>
}

/** The longest retry delay to wait for; a longer one is reported to the caller instead. */
const MAX_PAUSE_MS = 2_000

/** Routes calls to the upstreams of all models in the order of each, skipping failing ones; each has a concurrency limit, and each model there a breaker. */
export class UpstreamRouter implements ModelBackend {
  private readonly options: UpstreamRouterOptions
  private readonly slots = new Shares()
  private readonly breakers = new Map<string, Breaker>()
  private readonly firstBytes = new Map<string, FirstByteTime>()
  private readonly places = new WeakMap<ModelUpstream, Place>()
  private readonly parts: AttemptParts

  constructor(options: UpstreamRouterOptions) {
    this.options = options
    this.parts = { slots: this.slots, onTrouble: options.onTrouble, telemetry: options.telemetry }
  }

  states(models: readonly Model[]): readonly UpstreamState[] {
    const served = new Map([...this.breakers.keys()].map((name) => [name, new Set<string>()]))
    for (const { id, upstreams } of models)
      for (const upstream of upstreams) {
        const part = modelAt(upstream)
        served.set(part, (served.get(part) ?? new Set()).add(id))
      }
    return [...served].map(([name, ids]) => {
      // An upstream that was never called has the state of a new one.
      const { state, underWay, failures, failingSince, nextTryAt, lastRefusal } =
        this.breakers.get(name) ?? new Breaker(this.options.now)
      const said = lastRefusal && { lastRefusal }
      return { name, breaker: state, underWay, failures, failingSince, nextTryAt, ...said, models: [...ids] }
    })
  }

  async open(call: BackendCall, stop: AbortSignal, from = 0): Promise<Result<BackendAnswer, UpstreamFailure>> {
    const { model } = call
    call.order ??= model.order === undefined ? model.upstreams : this.orderFor(call)
    const upstreams = call.order
    // Such a signal tells nobody again.
    if (stop.aborted) return err({ kind: 'timeout', reason: 'told to stop' })
    let first = null as VendorRefusal | null
    for (;;) {
      let refused: VendorRefusal = first ?? NO_UPSTREAM
      for (let position = from; position < upstreams.length; position++) {
        const upstream = upstreams[position]
        if (upstream === undefined || !serves(upstream, call.wire, call.request)) continue
        if (call.tries === 0) break
        const begun = this.begin(upstream, position, call, stop)
        if (begun instanceof Attempt) {
          call.tries--
          let problem: VendorRefusal | null = FAULT
          try {
            problem =
              upstream.kind === 'sandbox' ? openSandbox(begun) : await openHttp(begun, this.keyOf(upstream) ?? null)
          } finally {
            if (problem !== null) begun.end(problem)
          }
          if (problem === null) return ok(begun)
          refused = problem
          if (problem.failure.kind === 'timeout') call.tries = Math.min(call.tries, 1)
        } else refused = begun
        if (!refused.goOn || stop.aborted) break
      }
      // Nothing was sent to the caller, and the vendor (or the failed connection) indicates that one retry is safe.
      const ms = refused.retryAfter === null ? null : refused.retryAfter * 1000 * (1 + Math.random() / 4)
      if (first !== null || ms === null || ms > MAX_PAUSE_MS || stop.aborted) return err(refused.failure)
      first = refused
      await (this.options.pause ?? Bun.sleep)(ms)
      if (stop.aborted) return err(first.failure)
    }
  }

  /** Takes a slot of an upstream, or says why the call may not be sent there. */
  private begin(
    upstream: ModelUpstream,
    position: number,
    call: BackendCall,
    stop: AbortSignal,
  ): Attempt | VendorRefusal {
    const place = this.placeOf(upstream)
    const { server, breaker } = place
    const { account } = call
    if (this.keyOf(upstream) === undefined) {
      this.options.onTrouble(server, `the key ${upstream.vendor ?? upstream.keyEnv} is not set`)
      return refusal('unavailable', 'its API key is not set', null)
    }
    const noSlot = this.slots.take(server, account, upstream.concurrency, TIMES_THE_TIER * call.concurrency)
    if (noSlot !== null) return noSlot === 'own_share' ? OWN_SHARE : FULL
    if (breaker.admits(account)) return new Attempt(this.parts, call, place, position, stop)
    this.slots.giveBack(server, account)
    return refusal('unavailable', 'its circuit breaker is open', null)
  }

  /** Null if the upstream needs none, undefined if it is missing. */
  private keyOf({ keyEnv, vendor, baseUrl }: ModelUpstream): string | null | undefined {
    if (vendor !== undefined) return this.options.vendorKeyOf(vendor, baseUrl)
    return keyEnv === null ? null : (this.options.keyOf(keyEnv) ?? undefined)
  }

  /** A call sees the same order to its end, also when it is continued after an answer that was none. */
  private orderFor({ model: { upstreams, order }, request }: BackendCall): readonly ModelUpstream[] {
    if (order === 'weighted') return weighted(upstreams)
    const times = new Map(upstreams.map((upstream) => [upstream, this.placeOf(upstream).firstByte.of(request.stream)]))
    const sorted = upstreams.toSorted((one, other) => (times.get(one) ?? 0) - (times.get(other) ?? 0))
    const [first] = sorted
    if (first) this.placeOf(first).firstByte.asked(request.stream)
    return sorted
  }

  private placeOf(upstream: ModelUpstream): Place {
    const known = this.places.get(upstream)
    if (known !== undefined) return known
    const part = modelAt(upstream)
    const breaker = this.breakerOf(part)
    const firstByte = this.firstBytes.get(part) ?? new FirstByteTime(breaker)
    this.firstBytes.set(part, firstByte)
    const place = { upstream, server: upstreamName(upstream), part, breaker, firstByte }
    this.places.set(upstream, place)
    return place
  }

  private breakerOf(part: string): Breaker {
    const known = this.breakers.get(part)
    if (known) return known
    const breaker = new Breaker(this.options.now)
    this.breakers.set(part, breaker)
    return breaker
  }
}

/** At random, an upstream of weight 2 twice as often before one of weight 1. */
function weighted(upstreams: readonly ModelUpstream[]): readonly ModelUpstream[] {
  // Exponential times of arrival, each at the rate of its weight.
  const arrivals = new Map(upstreams.map((upstream) => [upstream, -Math.log(Math.random()) / (upstream.weight ?? 1)]))
  return upstreams.toSorted((one, other) => (arrivals.get(one) ?? 0) - (arrivals.get(other) ?? 0))
}

const NO_UPSTREAM: VendorRefusal = refusal('unavailable', 'no upstream is available', null)
const FAULT: VendorRefusal = refusal('refused', 'a fault of our own', null)
const FULL: VendorRefusal = refusal('rate_limited', 'it has reached its limit of concurrent calls', null)
const OWN_SHARE: VendorRefusal = {
  ...FULL,
  failure: {
    kind: 'rate_limited',
    reason: 'one account has its share of the concurrent calls',
    failure: uncharged(
      'rate_limit_exceeded',
      `Your account already has as many calls at this model's upstream as one account may: half of its concurrency, and at most ${TIMES_THE_TIER} times the concurrency of your tier. Wait for a call to finish.`,
      { retryAfterSeconds: 1, limitSource: 'account' },
    ),
  },
}

function refusal(kind: UpstreamFailure['kind'], reason: string, retryAfter: number | null): VendorRefusal {
  return { failure: { kind, reason }, goOn: true, isFault: false, retryAfter }
}
