import { uncharged } from '../../core/failure'
import type { AccountId } from '../../core/ids'
import { Shares, TIMES_THE_TIER } from '../../core/limits/shares'
import { type Model, type ModelUpstream, modelAt, upstreamName } from '../../core/models/model'
import type { UpstreamFailure } from '../../core/providers/provider'
import { err, ok, type Result } from '../../core/result'
import type { Telemetry } from '../../core/telemetry/telemetry'
import { isSourceFault } from '../../core/telemetry/upstream-health'
import type { BackendAnswer, BackendCall, ModelBackend, UpstreamState } from '../../pipeline/models/model-backend'
import { serves, wireAt } from '../../pipeline/models/wires/model-wire'
import { Breaker } from './breaker'
import { type OpenedUpstream, openHttp } from './http-upstream'
import { openSandbox } from './sandbox/sandbox-upstream'
import { type VendorRefusal, WRONG_BODY } from './vendor'

export interface UpstreamRouterOptions {
  /** Returns our key by the name of its environment variable; null if it is not set. */
  readonly keyOf: (env: string) => string | null
  readonly now: () => number
  readonly onTrouble: (upstream: string, reason: string) => void
  readonly telemetry: Pick<Telemetry, 'upstreamEnded'>
  /** Waits before one more try. */
  readonly pause?: (ms: number) => Promise<void>
}

/** The longest retry delay to wait for; a longer one is reported to the caller instead. */
const MAX_PAUSE_MS = 2_000

/** An upstream's server and key, whose slots its models share, and one model there. */
interface Names {
  readonly server: string
  readonly model: string
}

/** Routes calls to the upstreams of all models in order of preference, skipping failing ones; each has a concurrency limit, and each model there a breaker. */
export class UpstreamRouter implements ModelBackend {
  private readonly options: UpstreamRouterOptions
  private readonly slots = new Shares()
  private readonly breakers = new Map<string, Breaker>()
  private readonly names = new WeakMap<ModelUpstream, Names>()

  constructor(options: UpstreamRouterOptions) {
    this.options = options
  }

  states(models: readonly Model[]): readonly UpstreamState[] {
    const served = new Map([...this.breakers.keys()].map((name) => [name, new Set<string>()]))
    for (const { id, upstreams } of models)
      for (const upstream of upstreams) {
        const { model } = this.namesOf(upstream)
        served.set(model, (served.get(model) ?? new Set()).add(id))
      }
    return [...served].map(([name, ids]) => {
      // An upstream that was never called has the state of a new one.
      const { state, underWay, failures, failingSince, nextTryAt } =
        this.breakers.get(name) ?? new Breaker(this.options.now)
      return { name, breaker: state, underWay, failures, failingSince, nextTryAt, models: [...ids] }
    })
  }

  async open(call: BackendCall, signal: AbortSignal, from = 0): Promise<Result<BackendAnswer, UpstreamFailure>> {
    const first = await this.round(call, signal, from)
    if (first.ok || first.error.retryAfter === null || signal.aborted) return toFailure(first)
    // Nothing was sent to the caller, and the vendor (or the failed connection) indicates that a retry is safe.
    const ms = first.error.retryAfter * 1000 * (1 + Math.random() / 4)
    if (ms > MAX_PAUSE_MS) return toFailure(first)
    await (this.options.pause ?? Bun.sleep)(ms)
    return signal.aborted ? toFailure(first) : toFailure(await this.round(call, signal, from))
  }

  /** Calls each upstream once, until one responds or its refusal rules out the others. */
  private async round(
    call: BackendCall,
    signal: AbortSignal,
    from: number,
  ): Promise<Result<BackendAnswer, VendorRefusal>> {
    const { upstreams } = call.model
    let last: VendorRefusal = refusal('unavailable', 'no upstream is available', null)
    for (let position = from; position < upstreams.length; position++) {
      const upstream = upstreams[position]
      if (upstream === undefined || !serves(upstream, call.wire, call.request)) continue
      const tried = await this.attempt(upstream, position, call, signal)
      if (tried.ok) return tried
      last = tried.error
      if (!last.goOn || signal.aborted) break
    }
    return err(last)
  }

  private async attempt(
    upstream: ModelUpstream,
    position: number,
    call: BackendCall,
    signal: AbortSignal,
  ): Promise<Result<BackendAnswer, VendorRefusal>> {
    const names = this.namesOf(upstream)
    const { server } = names
    const { account } = call
    const key = upstream.keyEnv === null ? null : this.options.keyOf(upstream.keyEnv)
    if (upstream.keyEnv !== null && key === null) {
      this.options.onTrouble(server, `${upstream.keyEnv} is not set`)
      return err(refusal('unavailable', 'its API key is not set', null))
    }
    const breaker = this.breakerOf(names)
    const noSlot = this.slots.take(server, account, upstream.concurrency, TIMES_THE_TIER * call.concurrency)
    if (noSlot !== null) return err(noSlot === 'own_share' ? OWN_SHARE : FULL)
    if (!breaker.admits(account)) {
      this.slots.giveBack(server, account)
      return err(refusal('unavailable', 'its circuit breaker is open', null))
    }
    const abort = new AbortController()
    const hangUp = () => abort.abort()
    signal.addEventListener('abort', hangUp, { once: true })
    const startedAt = performance.now()
    let isOpen = true
    let isReported = false
    const end = (refused: VendorRefusal | null, isWhole: boolean) => {
      if (!isOpen) return
      isOpen = false
      signal.removeEventListener('abort', hangUp)
      this.slots.giveBack(server, account)
      breaker.leave()
      if (!isWhole) abort.abort()
      if (!isReported) this.report(names, account, refused, { isStopped: signal.aborted, startedAt })
    }
    const opened = await this.called(upstream, key, call, abort, breaker.isKnown)
    if (!opened.ok) {
      end(opened.error, false)
      return opened
    }
    // A plain answer is judged once its body was read; a stream is an answer as soon as it begins.
    isReported = call.request.stream
    if (isReported) this.report(names, account, null, { isStopped: false, startedAt })
    return ok({
      ...opened.value,
      wire: wireAt(upstream, call.wire),
      upstream: server,
      position,
      kind: upstream.kind,
      idleMs: upstream.idleMs,
      drainMs: upstream.firstByteMs,
      close: (whole) => end(whole === 'no answer' ? WRONG_BODY : null, whole !== undefined),
    })
  }

  /** Reports a request to an upstream that ended. `isStopped`: this process stopped it, so a failure says nothing. */
  private report(
    names: Names,
    account: AccountId,
    refused: VendorRefusal | null,
    { isStopped, startedAt }: { readonly isStopped: boolean; readonly startedAt: number },
  ): void {
    const { telemetry, onTrouble } = this.options
    const { server, model } = names
    const breaker = this.breakerOf(names)
    const ms = performance.now() - startedAt
    if (refused === null) {
      telemetry.upstreamEnded(server, ms, null, null, model)
      if (isStopped) breaker.undecided(account)
      else breaker.succeeded(account)
      return
    }
    const { failure, isFault, isUnreachable = false } = refused
    const fault = isStopped ? null : { caller: account, isUnreachable }
    telemetry.upstreamEnded(server, ms, failure.kind, isSourceFault(failure) ? fault : null, model)
    if (fault && isFault) breaker.failed(fault)
    else breaker.undecided(account)
    if (!isStopped) onTrouble(server, failure.reason)
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

  private namesOf(upstream: ModelUpstream): Names {
    const known = this.names.get(upstream)
    if (known !== undefined) return known
    const server = upstreamName(upstream)
    const names = { server, model: modelAt(upstream) }
    this.names.set(upstream, names)
    return names
  }

  private breakerOf({ model }: Names): Breaker {
    const known = this.breakers.get(model)
    if (known) return known
    const breaker = new Breaker(this.options.now)
    this.breakers.set(model, breaker)
    return breaker
  }
}

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

function toFailure(outcome: Result<BackendAnswer, VendorRefusal>): Result<BackendAnswer, UpstreamFailure> {
  return outcome.ok ? outcome : err(outcome.error.failure)
}
