import type { CardTopUps } from '../../core/accounts/card-top-ups'
import { parseTopUp } from '../../core/accounts/top-ups'
import { failure } from '../../core/failure'
import { Failed } from '../middleware/failures'
import { readJson } from '../middleware/json-body'
import type { RequestContext } from '../middleware/request-context'

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

/** How much, and how, of a body; throws what is wrong with it. */
export async function wantedTopUp<M extends string>(context: RequestContext, methods: readonly M[]) {
  const body = await readJson(context)
  if (!body.ok) throw new Failed(body.error)
  const { amount, method } = Object(body.value) as { amount?: unknown; method?: unknown }
  const parsed = typeof amount === 'string' ? parseTopUp(amount) : null
  const chosen = methods.find((name) => name === method)
  if (parsed === null)
    throw new Failed(
      failure('invalid_parameter', 'amount must be text such as "10.00": 1 to 10000 USD with at most two decimals', {
        param: 'amount',
      }),
    )
  if (!chosen) {
    const rule = methods.length > 0 ? `must be one of ${methods.join(', ')}` : 'cannot be chosen: none is configured'
    throw new Failed(failure('invalid_parameter', `method ${rule}`, { param: 'method' }))
  }
  return { amount: parsed, method: chosen }
}
