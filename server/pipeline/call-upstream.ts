import { type Failure, failure } from '../core/failure'
import type { CallOrigin, Provider, ProviderAnswer, UpstreamFailure } from '../core/providers/provider'
import { no, ok, type Result } from '../core/result'
import { type Within, withDeadline } from './with-deadline'

/** Most bytes of an upstream's answer (spec-answers 2). */
const MAX_ANSWER_BYTES = 16 * 1024 * 1024

/** What an upstream says about our own credential or balance with it; a caller must never take it for its own. */
const ABOUT_US = new Set([401, 402, 403])

/** Why there is no answer, and whether it is sure that nothing was done: then the same may be asked again. */
export interface Unanswered {
  readonly failure: Failure
  readonly didNothing: boolean
}

/** What is told to whoever left before anything was asked; nobody reads it. */
export const HUNG_UP = failure('upstream_timeout', 'The caller hung up.')

/** The failure of whoever waits when the process ends. */
export const SHUTTING_DOWN = failure(
  'service_unavailable',
  'The gateway is shutting down and could not finish this call. You were not charged; send the request again.',
  { retryAfterSeconds: 1 },
)

interface Forwarding extends Pick<Within, 'timeoutMs' | 'stop'> {
  readonly onTrouble: (provider: string, reason: string) => void
}

/**
 * Calls the provider, and says in our words what it failed with. Whatever it does, a throw included, is an answer or a failure.
 * `stop` ends it before its time.
 */
export async function callUpstream<I>(
  provider: Provider<I>,
  input: I,
  origin: CallOrigin,
  { timeoutMs, stop, onTrouble }: Forwarding,
): Promise<Result<ProviderAnswer, Unanswered>> {
  const late = 'no answer before the deadline, or before it was told to stop'
  const answer = await withDeadline(provider, input, origin, { timeoutMs, stop, late })
  if (!answer.ok) {
    if (answer.error.kind !== 'refused') onTrouble(provider.name, answer.error.reason)
    return no({ failure: toFailure(answer.error), didNothing: surelyNothing(answer.error) })
  }
  if (isTooLarge(answer.value.body)) {
    onTrouble(provider.name, 'answer too large')
    const problem = failure('upstream_error', 'The source sent an answer that is too large. You were not charged.')
    return no({ failure: problem, didNothing: false })
  }
  return ok(answer.value)
}

/** We refused before anybody was asked, or the upstream refused the request itself; of any other failure nobody knows. */
function surelyNothing(problem: UpstreamFailure): boolean {
  const { kind, passThrough: { status } = { status: 0 } } = problem
  return ['refused', 'rate_limited', 'invalid_input'].includes(kind) || (status >= 400 && status < 500)
}

/** A text has at most three bytes per unit of its length, so that most are not counted. */
function isTooLarge(body: ProviderAnswer['body']): boolean {
  if (typeof body !== 'string') return body.byteLength > MAX_ANSWER_BYTES
  return body.length * 3 > MAX_ANSWER_BYTES && Buffer.byteLength(body) > MAX_ANSWER_BYTES
}

/** What a caller is told of an upstream's failure. */
export function toFailure(problem: UpstreamFailure): Failure {
  if (problem.failure) return problem.failure
  const { passThrough } = problem
  if (passThrough && ABOUT_US.has(passThrough.status) && !passThrough.isAboutInput)
    return failure('upstream_unavailable', 'The source cannot be used now. You were not charged.')
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
