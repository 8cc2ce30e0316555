import type { ApiMatch } from '../../core/apis/api-routes'
import type { CallPrice } from '../../core/apis/prices/price'
import { uncharged } from '../../core/failure'
import type { ApiInput } from './api-input'

/** A call of an imported operation, with its input validated and its price fixed. */
export interface ApiSale {
  readonly match: ApiMatch
  readonly input: ApiInput
  readonly price: CallPrice
  /** How many gateways the request has passed through before this one. */
  readonly hops: number
}

export const CALL_LOOP = uncharged(
  'upstream_unavailable',
  'This request has passed through three gateways and is probably going in a circle. It was not sent on.',
)
export const WRONG_ANSWER = uncharged(
  'upstream_error',
  'The upstream answered, but not with the result that this operation sells.',
)
export const NO_FIGURE = uncharged(
  'upstream_error',
  'The upstream answered without the figure that this operation is priced by.',
)
