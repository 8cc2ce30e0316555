import { ZERO } from '../core/money'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { err, ok, type Result, reasonOf } from '../core/result'
import type { Telemetry } from '../core/telemetry/telemetry'
import { faultOf, isSourceFault } from '../core/telemetry/upstream-health'

/** The abort reason for a source that runs out of time. A hang-up has another one, since it says nothing about the source. */
const DEADLINE = new DOMException('the deadline of the call', 'TimeoutError')

export interface Within {
  readonly timeoutMs: number
  /** Aborts when the caller hangs up; null where that changes nothing. */
  readonly stop: AbortSignal | null
  /** The reason for the log. */
  readonly late: string
  readonly telemetry: Telemetry
}

/** Whether a caller who hung up ended the call, which says nothing about the source. */
export function isHangUp(stop: AbortSignal | null): boolean {
  return stop?.aborted === true && stop.reason !== DEADLINE
}

/**
 * Calls a provider with a deadline, and reports the request. Answers from a cache, and refusals of the gateway's own, are none. What is
 * answered from a cache or inside the gateway costs the operator nothing.
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
