import type { CardTopUps } from '../../core/accounts/card-top-ups'
import { wrong } from '../../core/accounts/submitted'
import { parseTopUp } from '../../core/accounts/top-ups'
import { wrongParameters } from '../../core/failure'
import { Failed } from '../middleware/failures'
import { readable, readBody } from '../middleware/judge-body'
import type { RequestContext } from '../middleware/request-context'
import { NewTopUp } from './record'

/** How money can come in on a page, where it can. */
export interface TopUpPages {
  /** Where a card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps } | null
  /** Whether money that is worth nothing may be topped up, for development. */
  readonly sandboxTopUps: boolean
}

/** The ways to top up that a person has, beside the payment challenge. */
export function topUpMethods({ cards, sandboxTopUps }: TopUpPages) {
  return [...(cards ? ['card' as const] : []), ...(sandboxTopUps ? ['sandbox' as const] : [])]
}

/** How much to top up, and how; throws what is wrong with the body. */
export async function wantedTopUp<M extends string>(context: RequestContext, methods: readonly M[]) {
  const { amount, method } = await readBody(NewTopUp, context)
  const chosen = methods.find((name) => name === method)
  if (chosen) return { amount: readable(parseTopUp(amount)), method: chosen }
  const rule = methods.length > 0 ? `must be one of ${methods.join(', ')}` : 'cannot be chosen: none is configured'
  throw new Failed(wrongParameters([wrong('method', rule, method)]))
}
