import { tierOf } from '../../core/limits/tier'
import type { ModelBuyer } from '../../core/models/model'
import type { ModelCatalog } from '../../core/models/model-catalog'
import { WIRES } from '../../pipeline/models/wires/wires'
import type { Owner, OwnerSessions } from '../middleware/caller/owner-session'
import { readBody } from '../middleware/input/validate-body'
import { routeGroup } from '../middleware/request-context'
import { Failed } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { allowed, signedIn } from '../routing/api-access'
import { costing, READ } from '../routing/cost'
import { MODEL_DOCS } from './docs'
import type { ModelCalls } from './model-calls'
import { type CallEstimate, type ModelList, NewCallEstimate, wireModel } from './record'

/** An owner as one who asks for models. */
function buyerOf({ account, tier }: Pick<Owner, 'account' | 'tier'>): ModelBuyer {
  return { account, tier: tierOf(tier) }
}

/** For owners: the available models, and the maximum cost of a call. */
export function ownerModelRoutes(parts: { owners: OwnerSessions; models: ModelCatalog; modelCalls: ModelCalls }) {
  const { owners, models, modelCalls } = parts
  return routeGroup({ name: 'owner-models', prefix: '/api' })
    .get(
      '/models',
      ...allowed(signedIn(owners, 'member'), documented(MODEL_DOCS.offered), async ({ owner }): Promise<ModelList> => {
        return { object: 'list', data: models.listFor(buyerOf(owner)).map(wireModel) }
      }),
    )
    .post(
      '/models/estimate',
      ...allowed(
        signedIn(owners, 'member'),
        costing(READ, documented(MODEL_DOCS.estimate)),
        async ({ owner, context }): Promise<CallEstimate> => {
          const { endpoint_type, model, body } = await readBody(NewCallEstimate, context)
          const wire = WIRES[endpoint_type]
          const bytes = new TextEncoder().encode(JSON.stringify(body))
          const estimate = modelCalls.estimate({
            wire,
            path: { model, stream: false, events: false },
            bytes,
            buyer: buyerOf(owner),
          })
          if (!estimate.ok) throw new Failed(estimate.error)
          const { bounds, maxCost } = estimate.value
          return {
            model: estimate.value.model.id,
            price_version: estimate.value.model.priceVersion,
            most_micros_usd: maxCost,
            likely_input_tokens: bounds.input.likely,
            most_input_tokens: bounds.input.max,
            most_output_tokens: bounds.output,
          }
        },
      ),
    )
}
