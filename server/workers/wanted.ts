import type { BasePriceName, SoldName } from '../core/catalog/operation'
import { currentPrice, type Prices } from '../core/catalog/prices'
import { type Failure, uncharged } from '../core/failure'
import type { Model, ModelBuyer } from '../core/models/model'
import { err, ok, type Result } from '../core/result'
import { soldPrice } from '../pipeline/apis/api-sale'
import { type AuthenticatedCall, buyerOf } from '../pipeline/call'
import type { Wanted } from '../pipeline/decisions'
import { modelLoad } from '../pipeline/models/validate-model-call'
import type { HoldNeeds } from './messages'

/** What is on sale now. */
export interface OnSale {
  readonly modelOf: (id: string, buyer: ModelBuyer | null) => Model | null
  readonly prices: Prices
}

const RETRY = { retryAfterSeconds: 1 }
const UNKNOWN_MODEL = uncharged('service_unavailable', 'The models have just changed. Send the request again.', RETRY)
const STALE_PRICE = uncharged('service_unavailable', 'The price has just changed. Send the request again.', RETRY)

/** What a worker wants to hold for a call, or that it was quoted at a price which is not the price now. */
export function wantedOf(needs: HoldNeeds, call: AuthenticatedCall, onSale: OnSale): Result<Wanted, Failure> {
  call.incoming.budgetScope = needs.scope
  const { operation, maxCost, version, fixed, minCost, credit, needsTopUp, timeoutMs, fingerprint, load } = needs
  const model = load && onSale.modelOf(load.model, buyerOf(call))
  if (load && !model) return err(UNKNOWN_MODEL)
  if (version !== (model ? model.priceVersion : priceVersion(call, onSale.prices))) return err(STALE_PRICE)
  return ok({
    operation: operation as SoldName,
    quote: { maxCost, version, fixed, ...(minCost !== null && { minCost }) },
    credit,
    timeoutMs,
    fingerprint: () => fingerprint ?? '',
    ...(load && model && { load: { ...modelLoad(call, model), tokens: load.tokens } }),
    ...(needsTopUp !== null && { needsTopUp }),
  })
}

/** Of a search or an imported operation; null for what has no price. */
function priceVersion({ caller, incoming: { route } }: AuthenticatedCall, prices: Prices): string | null {
  if (route.kind !== 'priced') return null
  const account = caller.kind === 'anonymous' ? null : caller.account.id
  if (route.match) return soldPrice(prices, route.match, account).version
  return currentPrice(prices, route.operation as BasePriceName, account).version
}
