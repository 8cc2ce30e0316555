import { type Model, type ModelUpstream, upstreamName } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { isSourceFault } from '../../core/telemetry/upstream-health'
import type { BackendAnswer, BackendCall, ModelBackend, UpstreamState } from '../../pipeline/models/model-backend'
import { serves, wireAt } from '../../pipeline/models/wires/model-wire'
import { Breaker } from './breaker'
import { type OpenedUpstream, openHttp } from './http-upstream'
import { openSandbox } from './sandbox/sandbox-upstream'
import type { VendorRefusal } from './vendor'

export interface UpstreamRouterOptions {
  /** Returns our key by the name of its environment variable; null if it is not set. */
  readonly keyOf: (env: string) => string | null
  readonly now: () => number
  readonly onTrouble: (upstream: string, reason: string) => void
  readonly telemetry: Pick<Telemetry, 'upstreamEnded'>
  /** How much of an upstream's concurrency is this gateway's; all of it, if there is no other. */
  readonly shareOf?: (cap: number) => number
  /** Waits before one more try. */
  readonly pause?: (ms: number) => Promise<void>
}

/** The longest retry delay to wait for; a longer one is reported to the caller instead. */
const MAX_PAUSE_MS = 2_000

/** Routes calls to the upstreams of all models in order of preference, skipping failing ones; each has a concurrency limit and a breaker. */
export class UpstreamRouter implements ModelBackend {
  private readonly options: UpstreamRouterOptions
  private readonly breakers = new Map<string, Breaker>()
  private readonly names = new WeakMap<ModelUpstream, string>()

  constructor(options: UpstreamRouterOptions) {
    this.options = options
  }

  states(models: readonly Model[]): readonly UpstreamState[] {
    const served = new Map([...this.breakers.keys()].map((name) => [name, new Set<string>()]))
    for (const { id, upstreams } of models)
      for (const upstream of upstreams) {
        const name = this.nameOf(upstream)
        served.set(name, (served.get(name) ?? new Set()).add(id))
      }
    return [...served].map(([name, ids]) => {
      // An upstream that was never called has the state of a new one.
      const { state, underWay, failures, failingSince, nextTryAt } =
        this.breakers.get(name) ?? new Breaker(this.options.now)
      return { name, breaker: state, underWay, failures, failingSince, nextTryAt, models: [...ids] }
    })
  }

  async open(call: BackendCall, signal: AbortSignal): Promise<Result<BackendAnswer, UpstreamFailure>> {
    const first = await this.round(call, signal)
    if (first.ok || first.error.retryAfter === null || signal.aborted) return toFailure(first)
    // Nothing was sent to the caller, and the vendor (or the failed connection) indicates that a retry is safe.
    const ms = first.error.retryAfter * 1000 * (1 + Math.random() / 4)
    if (ms > MAX_PAUSE_MS) return toFailure(first)
    await (this.options.pause ?? Bun.sleep)(ms)
    return signal.aborted ? toFailure(first) : toFailure(await this.round(call, signal))
  }

  /** Calls each upstream once, until one responds or its refusal rules out the others. */
  private async round(call: BackendCall, signal: AbortSignal): Promise<Result<BackendAnswer, VendorRefusal>> {
    let last: VendorRefusal = refusal('unavailable', 'no upstream is available', null)
    for (const upstream of call.model.upstreams.filter((one) => serves(one, call.wire, call.request))) {
      const tried = await this.attempt(upstream, call, signal)
      if (tried.ok) return tried
      last = tried.error
      if (!last.goOn || signal.aborted) break
    }
    return err(last)
  }

  private async attempt(
    upstream: ModelUpstream,
    call: BackendCall,
    signal: AbortSignal,
  ): Promise<Result<BackendAnswer, VendorRefusal>> {
    const name = this.nameOf(upstream)
    const key = upstream.keyEnv === null ? null : this.options.keyOf(upstream.keyEnv)
    if (upstream.keyEnv !== null && key === null) {
      this.options.onTrouble(name, `${upstream.keyEnv} is not set`)
      return err(refusal('unavailable', 'its API key is not set', null))
    }
    const breaker = this.breakerOf(name)
    const entered = breaker.enter(this.options.shareOf?.(upstream.concurrency) ?? upstream.concurrency)
    if (entered === 'open') return err(refusal('unavailable', 'its circuit breaker is open', null))
    if (entered === 'full') return err(refusal('rate_limited', 'it has reached its limit of concurrent calls', null))
    const abort = new AbortController()
    const hangUp = () => abort.abort()
    signal.addEventListener('abort', hangUp, { once: true })
    let open = true
    const close = () => {
      if (!open) return
      open = false
      signal.removeEventListener('abort', hangUp)
      breaker.leave()
      abort.abort()
    }
    const startedAt = performance.now()
    const opened = await this.called(upstream, key, call, abort, breaker.isKnown)
    const failure = opened.ok ? null : opened.error.failure
    const isFault = failure !== null && !signal.aborted && isSourceFault(failure)
    this.options.telemetry.upstreamEnded(name, performance.now() - startedAt, failure?.kind ?? null, isFault)
    if (!opened.ok) {
      close()
      if (signal.aborted || !opened.error.isFault) breaker.undecided()
      else breaker.failed()
      if (!signal.aborted) this.options.onTrouble(name, opened.error.failure.reason)
      return opened
    }
    breaker.succeeded()
    const wire = wireAt(upstream, call.wire)
    return ok({
      ...opened.value,
      wire,
      upstream: name,
      kind: upstream.kind,
      idleMs: upstream.idleMs,
      drainMs: upstream.firstByteMs,
      close,
    })
  }

  private async called(
    upstream: ModelUpstream,
    key: string | null,
    call: BackendCall,
    abort: AbortController,
    isKnown: boolean,
  ): Promise<Result<OpenedUpstream, VendorRefusal>> {
    return upstream.kind === 'sandbox' ? openSandbox(upstream, call) : openHttp(upstream, key, call, abort, isKnown)
  }

  private nameOf(upstream: ModelUpstream): string {
    const known = this.names.get(upstream)
    if (known !== undefined) return known
    const name = upstreamName(upstream)
    this.names.set(upstream, name)
    return name
  }

  private breakerOf(name: string): Breaker {
    const known = this.breakers.get(name)
    if (known) return known
    const breaker = new Breaker(this.options.now)
    this.breakers.set(name, breaker)
    return breaker
  }
}

function refusal(kind: UpstreamFailure['kind'], reason: string, retryAfter: number | null): VendorRefusal {
  return { failure: { kind, reason }, goOn: true, isFault: false, retryAfter }
}

function toFailure(outcome: Result<BackendAnswer, VendorRefusal>): Result<BackendAnswer, UpstreamFailure> {
  return outcome.ok ? outcome : err(outcome.error.failure)
}
