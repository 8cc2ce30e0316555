import type { Failure } from '../core/failure'
import type { Limiter, Readings, Ticket } from '../core/limits/limiter'
import { limitFailure } from './auth/authenticate'
import type { AuthenticatedCall } from './call'

/**
 * Works in one place of the caller's, which is taken before anything of its body is read (spec-answers 9). The place is given back
 * on every way out; a stream takes it along, to its end.
 */
export async function inPlace<T extends { readonly kind: string }>(
  limiter: Pick<Limiter, 'enter'>,
  { subjects, caller }: AuthenticatedCall,
  work: (ticket: Ticket) => Promise<T>,
): Promise<T | { readonly kind: 'refused'; readonly failure: Failure; readonly readings?: Readings }> {
  const entered = await limiter.enter(subjects)
  if (!entered.ok)
    return { kind: 'refused', failure: limitFailure(entered.error, caller), readings: entered.error.readings }
  const ticket = entered.value
  let goesOn = false
  try {
    const outcome = await work(ticket)
    goesOn = outcome.kind === 'streaming'
    return outcome
  } finally {
    if (!goesOn) await ticket.finish(0)
  }
}
