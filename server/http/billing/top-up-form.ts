import type { CardTopUps } from '../../core/accounts/cards/card-top-ups'
import { invalidParameter } from '../../core/accounts/submitted'
import { parseTopUp } from '../../core/accounts/top-ups'
import { wrongParameters } from '../../core/failure'
import { readable, readBody } from '../middleware/input/validate-body'
import type { RequestContext } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { NewTopUp } from './record'

/** The ways to top up on a page, as configured. */
export interface TopUpPages {
  /** Null if no card processor is configured. */
  readonly cards: { readonly topUps: CardTopUps } | null
  /** Whether sandbox money may be topped up, for development. */
  readonly sandboxTopUps: boolean
}

/** The top-up methods for people; agents can also answer a payment challenge. */
export function topUpMethods({ cards, sandboxTopUps }: TopUpPages) {
  return [...(cards ? ['card' as const] : []), ...(sandboxTopUps ? ['sandbox' as const] : [])]
}

/** The amount and method of a top-up. Throws if the body is invalid. */
export async function readTopUp<M extends string>(context: RequestContext, methods: readonly M[]) {
  const { amount, method } = await readBody(NewTopUp, context)
  const chosen = methods.find((name) => name === method)
  if (chosen) return { amount: readable(parseTopUp(amount)), method: chosen }
  const rule =
    methods.length > 0
      ? `must be one of ${methods.join(', ')}`
      : 'is not available: this gateway has no top-up method configured'
  throw new Failed(wrongParameters([invalidParameter('method', rule, method)]))
}
