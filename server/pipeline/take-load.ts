import type { Limiter, LimitRefusal, Ticket } from '../core/limits/limiter'
import { limitFailure } from './auth/authenticate'
import type { Caller, PaidCall, RefusedOutcome } from './call'
import type { Drain, Drains } from './drains'
import { accountOf } from './record-call'
import type { Load } from './work'

/**
 * Takes what a call needs of its caller's limits besides its place: a request of its own window, and its likely tokens. Refuses
 * an account that has too many calls running after their callers hung up.
 */
export async function takeLoad(
  { limiter, drains }: { readonly limiter: Limiter; readonly drains: Drains },
  { authenticated, hangUp }: Pick<PaidCall, 'authenticated' | 'hangUp'>,
  load: Load,
  place: Ticket,
): Promise<{ readonly kind: 'taken'; readonly drain: Drain } | RefusedOutcome> {
  const { caller, subjects } = authenticated
  const counted = load.window && (await limiter.countRequest([load.window]))
  if (counted && !counted.ok)
    return {
      kind: 'refused',
      failure: limitFailure(counted.error, caller),
      readings: await limiter.read(load.subjects),
    }
  const account = accountOf(authenticated)
  const problem = drains.refusal(account, subjects[0]?.limits.concurrency ?? 1, load)
  if (problem) return { kind: 'refused', failure: problem, readings: await limiter.read(load.subjects) }
  const reserved = await place.reserve(load.subjects, load.tokens)
  if (!reserved.ok) return overLimit(reserved.error, caller)
  const drain = drains.open(account, load)
  const begin = () => drain.begin()
  hangUp.addEventListener('abort', begin, { once: true })
  place.with(() => {
    hangUp.removeEventListener('abort', begin)
    drain.end()
  })
  return { kind: 'taken', drain }
}

export function overLimit(refusal: LimitRefusal, caller: Caller): RefusedOutcome {
  return { kind: 'refused', failure: limitFailure(refusal, caller), readings: refusal.readings }
}
