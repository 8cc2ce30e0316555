import { type Failure, failure } from '../core/failure'
import type { Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { no, ok, type Result } from '../core/result'

/** Most bytes of an upstream's answer (spec-answers 2). */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/**
 * Calls the provider under one deadline and one abort signal: the caller's hanging up and the timeout both end it. Whatever
 * the provider does, a throw included, comes out as an answer or as a failure.
 */
export async function forward<I>(
  provider: Provider<I>,
  input: I,
  timeoutMs: number,
  caller: AbortSignal,
  onTrouble: (provider: string, reason: string) => void,
): Promise<Result<ProviderAnswer, Failure>> {
  const abort = new AbortController()
  const hangUp = () => abort.abort()
  const timer = setTimeout(hangUp, timeoutMs)
  caller.addEventListener('abort', hangUp, { once: true })
  if (caller.aborted) hangUp()
  try {
    const answer = await provider.call(input, abort.signal)
    if (!answer.ok) {
      onTrouble(provider.name, answer.error.reason)
      return no(told(answer.error))
    }
    if (isTooLarge(answer.value.body)) {
      onTrouble(provider.name, 'answer too large')
      return no(failure('upstream_error', 'The source sent an answer that is too large. You were not charged.'))
    }
    return ok(answer.value)
  } catch (error) {
    onTrouble(provider.name, error instanceof Error ? error.message : String(error))
    return no(failure('upstream_error', 'The source failed. You were not charged.'))
  } finally {
    clearTimeout(timer)
    caller.removeEventListener('abort', hangUp)
  }
}

/** A text has at most three bytes per unit of its length, so that most are not counted. */
function isTooLarge(body: ProviderAnswer['body']): boolean {
  if (typeof body !== 'string') return body.byteLength > MAX_ANSWER_BYTES
  return body.length * 3 > MAX_ANSWER_BYTES && Buffer.byteLength(body) > MAX_ANSWER_BYTES
}

function told(problem: UpstreamFailure): Failure {
  const more = {
    ...(problem.passThrough && { passThrough: problem.passThrough }),
    ...(problem.retryAfterSeconds && { retryAfterSeconds: problem.retryAfterSeconds }),
  }
  switch (problem.kind) {
    case 'error':
      return failure('upstream_error', 'The source answered with an error. You were not charged.', more)
    case 'unavailable':
      return failure('upstream_unavailable', 'The source cannot be reached. You were not charged.', more)
    case 'timeout':
      return failure('upstream_timeout', 'The source did not answer in time. You were not charged.', more)
    case 'rate_limited':
      return failure('upstream_rate_limit', 'The source is busy, not you. You were not charged.', {
        retryAfterSeconds: 1,
        limitSource: 'upstream',
        ...more,
      })
  }
}
