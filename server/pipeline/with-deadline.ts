import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { err, type Result } from '../core/result'

/** The abort reason for a source that runs out of time. A hang-up has another one, since it says nothing about the source. */
const DEADLINE = new DOMException('the deadline of the call', 'TimeoutError')

export interface Within {
  readonly timeoutMs: number
  /** Aborts when the caller hangs up; null where that changes nothing. */
  readonly stop: AbortSignal | null
  /** The reason for the log. */
  readonly late: string
}

/**
 * Calls a provider with a deadline. A hang-up or the timeout ends the call even if the provider ignores its signal. If the
 * provider throws, the result is a failure.
 */
export async function withDeadline<I>(
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
    return err({ kind: 'error', reason: error instanceof Error ? error.message : String(error) })
  } finally {
    clearTimeout(timer)
    stop?.removeEventListener('abort', end)
  }
}
