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

/** Why there is no answer. `didNothing`: the upstream certainly did nothing, so a retry is safe. */
export interface Unanswered {
  readonly failure: Failure
  readonly didNothing: boolean
}

/** The failure of a caller who hung up before the upstream was called. It is not read. */
export const HUNG_UP = failure('upstream_timeout', 'The caller hung up.')

/** The failure of calls that are still open when the process ends. */
export const SHUTTING_DOWN = uncharged(
  'service_unavailable',
  'The gateway is shutting down and could not finish this call. Send the request again.',
  { retryAfterSeconds: 1 },
)

interface Forwarding extends Pick<Within, 'timeoutMs' | 'stop' | 'telemetry'> {
  readonly onTrouble: (provider: string, reason: string) => void
}

/**
 * Calls the provider and translates its failures. Always resolves to an answer or a failure, even if the provider throws.
 * `stop` ends the call early.
 */
export async function callUpstream<I>(
  provider: Provider<I>,
  input: I,
  origin: CallOrigin,
  { timeoutMs, stop, telemetry, onTrouble }: Forwarding,
): Promise<Result<ProviderAnswer, Unanswered>> {
  const late = 'no answer before the deadline, or before the call was canceled'
  const answer = await withDeadline(provider, input, origin, { timeoutMs, stop, late, telemetry })
  if (!answer.ok) {
    if (answer.error.kind !== 'refused' && !isHangUp(stop)) onTrouble(provider.name, answer.error.reason)
    return err({ failure: toFailure(answer.error), didNothing: surelyNothing(answer.error) })
  }
  if (isTooLarge(answer.value.body)) {
    onTrouble(provider.name, 'answer too large')
    const problem = uncharged('upstream_error', 'The upstream provider sent a response that is too large.')
    return err({ failure: problem, didNothing: false })
  }
  return ok(answer.value)
}

/** The gateway refused before it called the upstream, or the upstream refused the request. After any other failure the outcome is unknown. */
function surelyNothing(problem: UpstreamFailure): boolean {
  const { kind, passThrough: { status } = { status: 0 } } = problem
  return ['refused', 'rate_limited', 'invalid_input'].includes(kind) || (status >= 400 && status < 500)
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

interface Within {
  readonly timeoutMs: number
  /** Aborts when the caller hangs up; null where that changes nothing. */
  readonly stop: AbortSignal | null
  /** The reason for the log. */
  readonly late: string
  readonly telemetry: Telemetry
}

/** Whether a caller who hung up ended the call, which says nothing about the source. */
function isHangUp(stop: AbortSignal | null): boolean {
  return stop?.aborted === true && stop.reason !== DEADLINE
}

/**
 * Calls a provider with a deadline, and reports the request. Answers from a cache, and refusals of the gateway's own, are no requests. An
 * answer from a cache or inside the gateway costs the operator nothing.
 */
export async function withDeadline<I>(
  provider: Provider<I>,
  input: I,
  origin: CallOrigin,
  within: Within,
): Promise<Result<ProviderAnswer, UpstreamFailure>> {
  const startedAt = performance.now()
  const answer = await callWithin(provider, input, origin, within)
  const isCached = answer.ok && answer.value.ageSeconds !== undefined
  const isRequest = answer.ok ? !isCached : answer.error.kind !== 'refused' && !isHangUp(within.stop)
  if (isRequest && !provider.isChain) {
    const failure = answer.ok ? null : answer.error
    const fault = failure !== null && isSourceFault(failure) ? faultOf(failure, origin.caller) : null
    within.telemetry.upstreamEnded(provider.name, performance.now() - startedAt, failure?.kind ?? null, fault)
  }
  return answer.ok && (isCached || provider.isLocal) ? ok({ ...answer.value, cost: ZERO }) : answer
}

/**
 * Calls a provider with a deadline. A hang-up or the timeout ends the call even if the provider ignores its signal. If the
 * provider throws, the result is a failure.
 */
async function callWithin<I>(
  provider: Provider<I>,
  input: I,
  origin: CallOrigin,
  { timeoutMs, stop, late }: Within,
): Promise<Result<ProviderAnswer, UpstreamFailure>> {
  const abort = new AbortController()
  // Two callbacks of one promise, which cost less than a race of two promises.
  const { promise, resolve, reject } = Promise.withResolvers<Result<ProviderAnswer, UpstreamFailure>>()
  const end = () => {
    abort.abort(stop?.aborted ? stop.reason : DEADLINE)
    resolve(err({ kind: 'timeout', reason: late }))
  }
  const timer = setTimeout(end, timeoutMs)
  stop?.addEventListener('abort', end, { once: true })
  if (stop?.aborted) end()
  try {
    provider.call(input, abort.signal, origin).then(resolve, reject)
    return await promise
  } catch (error) {
    return err({ kind: 'error', reason: reasonOf(error) })
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', end)
  }
}
