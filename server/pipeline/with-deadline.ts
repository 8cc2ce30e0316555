import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { err, type Result } from '../core/result'

/** Tells a source that its time is over; a caller who hangs up says nothing about the source. */
const DEADLINE = new DOMException('the deadline of the call', 'TimeoutError')

export interface Within {
  readonly timeoutMs: number
  /** The caller's hanging up. */
  readonly stop: AbortSignal
  /** The reason that the log gets. */
  readonly late: string
}

/**
 * Calls a provider under one deadline and one abort signal: the caller's hanging up and the timeout both end it, also when
 * the provider does not listen. A throw of the provider comes out as a failure.
 */
export async function withDeadline<I>(
  provider: Provider<I>,
  input: I,
  origin: CallOrigin,
  { timeoutMs, stop, late }: Within,
): Promise<Result<ProviderAnswer, UpstreamFailure>> {
  const abort = new AbortController()
  const ended = Promise.withResolvers<Result<ProviderAnswer, UpstreamFailure>>()
  const end = () => {
    abort.abort(stop.aborted ? stop.reason : DEADLINE)
    ended.resolve(err({ kind: 'timeout', reason: late }))
  }
  const timer = setTimeout(end, timeoutMs)
  stop.addEventListener('abort', end, { once: true })
  if (stop.aborted) end()
  try {
    return await Promise.race([ended.promise, provider.call(input, abort.signal, origin)])
  } catch (error) {
    return err({ kind: 'error', reason: error instanceof Error ? error.message : String(error) })
  } finally {
    clearTimeout(timer)
    stop.removeEventListener('abort', end)
  }
}
