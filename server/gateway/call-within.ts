import type { Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { no, type Result } from '../core/result'

/** Tells a source that its time is over; a caller who hangs up says nothing about the source. */
const DEADLINE = new DOMException('the deadline of the call', 'TimeoutError')

/**
 * Calls a provider under one deadline and one abort signal: the caller's hanging up and the timeout both end it, also when
 * the provider does not listen. A throw of the provider comes out as a failure. `late` is the reason that the log gets.
 */
export async function callWithin<I>(
  provider: Provider<I>,
  input: I,
  timeoutMs: number,
  caller: AbortSignal,
  late: string,
): Promise<Result<ProviderAnswer, UpstreamFailure>> {
  const abort = new AbortController()
  const ended = Promise.withResolvers<Result<ProviderAnswer, UpstreamFailure>>()
  const end = () => {
    abort.abort(caller.aborted ? caller.reason : DEADLINE)
    ended.resolve(no({ kind: 'timeout', reason: late }))
  }
  const timer = setTimeout(end, timeoutMs)
  caller.addEventListener('abort', end, { once: true })
  if (caller.aborted) end()
  try {
    return await Promise.race([ended.promise, provider.call(input, abort.signal)])
  } catch (error) {
    return no({ kind: 'error', reason: error instanceof Error ? error.message : String(error) })
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', end)
  }
}
