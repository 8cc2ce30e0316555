import { type Failure, failure, uncharged } from '../core/failure'
import { ZERO } from '../core/money'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { err, ok, type Result, reasonOf } from '../core/result'
import type { Telemetry } from '../core/telemetry/telemetry'
import { faultOf, isSourceFault } from '../core/telemetry/upstream-health'

/** The largest answer accepted from an upstream (spec D2). */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** Statuses about the gateway's own credential or balance at the upstream. A caller must not mistake them for its own. */
const ABOUT_US = new Set([401, 402, 403])

/** The failure of a caller who hung up before the upstream was called. It is not read. */
export const HUNG_UP = failure('upstream_timeout', 'The caller hung up.')

/** The failure of calls that are still open when the process ends. */
export const SHUTTING_DOWN = uncharged(
  'service_unavailable',
  'The gateway is shutting down and could not finish this call. Send the request again.',
  { retryAfterSeconds: 1 },
)

/** Whether the upstream certainly did nothing, so that a retry is safe: the gateway refused before it asked, or the upstream refused the request. */
export function didNothing({ kind, passThrough }: UpstreamFailure): boolean {
  if (kind === 'refused' || kind === 'rate_limited' || kind === 'invalid_input') return true
  return passThrough !== undefined && passThrough.status >= 400 && passThrough.status < 500
}

/** A string has at most three bytes per UTF-16 unit, so the bytes of most strings need no counting. */
function isTooLarge(body: ProviderAnswer['body']): boolean {
  if (typeof body !== 'string') return body.byteLength > MAX_ANSWER_BYTES
  return body.length * 3 > MAX_ANSWER_BYTES && Buffer.byteLength(body) > MAX_ANSWER_BYTES
}

/** The failure that the caller sees when an upstream fails. */
export function toFailure(problem: UpstreamFailure): Failure {
  if (problem.failure) return problem.failure
  const { passThrough } = problem
  if (passThrough && ABOUT_US.has(passThrough.status) && !passThrough.isAboutInput)
    return uncharged('upstream_unavailable', 'The upstream provider cannot be used now.')
  const more = {
    ...(passThrough && { passThrough }),
    ...(problem.retryAfterSeconds && { retryAfterSeconds: problem.retryAfterSeconds }),
  }
  switch (problem.kind) {
    case 'invalid_input': {
      const { param, rule } = problem.input ?? { param: 'q', rule: 'cannot be answered' }
      return failure('invalid_parameter', `${param} ${rule}`, { param })
    }
    case 'refused':
    case 'error':
      return uncharged('upstream_error', 'The upstream provider returned an error.', more)
    case 'unavailable':
      return uncharged('upstream_unavailable', 'The upstream provider cannot be reached.', more)
    case 'timeout':
      return uncharged('upstream_timeout', 'The upstream provider did not answer in time.', more)
    case 'rate_limited':
      return uncharged(
        'upstream_rate_limit',
        'The upstream provider is rate-limiting the gateway. Your own limits were not reached.',
        {
          retryAfterSeconds: 1,
          limitSource: 'upstream',
          ...more,
        },
      )
  }
}

/** The abort reason for a source that runs out of time. A hang-up has another one, since it says nothing about the source. */
const DEADLINE = new DOMException('the deadline of the call', 'TimeoutError')

const TOO_LARGE: UpstreamFailure = {
  kind: 'error',
  reason: 'answer too large',
  isAboutRequest: true,
  failure: uncharged('upstream_error', 'The upstream provider sent a response that is too large.'),
}

type Answer = Result<ProviderAnswer, UpstreamFailure>

interface Bounds {
  readonly timeoutMs: number
  /** Aborts when the caller hangs up; null where that changes nothing. */
  readonly stop: AbortSignal | null
  readonly telemetry: Telemetry
}

/** Whether a caller who hung up ended the call, which says nothing about the source. */
function isHangUp(stop: AbortSignal | null): boolean {
  return stop?.aborted === true && stop.reason !== DEADLINE
}

/**
 * Calls a provider and reports the request. Resolves to an answer or a failure: the timeout or a hang-up ends the call even if the provider
 * ignores its signal, and a provider that throws has failed. Rejects only for a fault of ours.
 */
export function callUpstream<I>(provider: Provider<I>, input: I, origin: CallOrigin, bounds: Bounds): Promise<Answer> {
  const call = new UpstreamCall(provider, origin, bounds)
  call.start(input)
  return call.answer
}

/** One call of a provider, until its answer, its failure, its deadline or its caller ends it. */
class UpstreamCall<I> {
  private readonly provider: Provider<I>
  private readonly origin: CallOrigin
  private readonly bounds: Bounds
  private readonly ended = Promise.withResolvers<Answer>()
  private readonly abort = new AbortController()
  private readonly startedAt = performance.now()
  private readonly timer: ReturnType<typeof setTimeout>
  private isOver = false

  constructor(provider: Provider<I>, origin: CallOrigin, bounds: Bounds) {
    this.provider = provider
    this.origin = origin
    this.bounds = bounds
    this.timer = setTimeout(stopInTime, bounds.timeoutMs, this)
  }

  get answer(): Promise<Answer> {
    return this.ended.promise
  }

  start(input: I): void {
    const { stop } = this.bounds
    stop?.addEventListener('abort', this, { once: true })
    if (stop?.aborted) {
      this.handleEvent()
      return
    }
    try {
      this.provider.call(input, this.abort.signal, this.origin).then(
        (answer) => this.end(answer),
        (error) => this.end(thrown(error)),
      )
    } catch (error) {
      this.end(thrown(error))
    }
  }

  /** Ends it before its provider does. */
  handleEvent(): void {
    const { stop } = this.bounds
    this.end(err({ kind: 'timeout', reason: 'no answer before the deadline, or before the call was canceled' }))
    this.abort.abort(stop?.aborted ? stop.reason : DEADLINE)
  }

  private end(answer: Answer): void {
    if (this.isOver) return
    this.isOver = true
    clearTimeout(this.timer)
    this.bounds.stop?.removeEventListener('abort', this)
    try {
      const bounded = answer.ok && isTooLarge(answer.value.body) ? err(TOO_LARGE) : answer
      this.report(bounded)
      // An answer from a cache or inside the gateway costs the operator nothing.
      const isFree = bounded.ok && (bounded.value.ageSeconds !== undefined || this.provider.isLocal)
      const cost = isFree ? ZERO : this.provider.cost
      this.ended.resolve(bounded.ok && cost !== undefined ? ok({ ...bounded.value, cost }) : bounded)
    } catch (fault) {
      // Else nobody would learn that the call is over.
      this.ended.reject(fault)
    }
  }

  /** Answers from a cache, and refusals of the gateway's own, are no requests. */
  private report(answer: Answer): void {
    const { provider, origin, bounds, startedAt } = this
    const problem = answer.ok ? null : answer.error
    const isRequest = answer.ok
      ? answer.value.ageSeconds === undefined
      : answer.error.kind !== 'refused' && !isHangUp(bounds.stop)
    if (!isRequest || provider.isChain) return
    const fault = problem !== null && isSourceFault(problem) ? faultOf(problem, origin.caller) : null
    bounds.telemetry.upstreamEnded(provider.name, performance.now() - startedAt, problem?.kind ?? null, fault)
  }
}

function stopInTime(call: UpstreamCall<never>): void {
  call.handleEvent()
}

function thrown(error: unknown): Answer {
  return err({ kind: 'error', reason: reasonOf(error) })
}
