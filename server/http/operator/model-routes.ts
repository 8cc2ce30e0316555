import type { Model } from '../../core/models/model'
import { ok } from '../../core/result'
import { OPERATOR_BODY } from '../middleware/input/json-body'
import { routeGroup } from '../middleware/request-context'
import { wireModel } from '../models/record'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed, type Id } from '../routing/api-access'
import { CONSOLE_ONLY, command } from './operator-roles'
import { type PriceReviewParts, reviewedPrices } from './price-reviews'
import { NoBody, type OperatorModels, PriceModel, PutModel, ReviewPrices } from './record'

export type ModelAdminParts = PriceReviewParts

/** Models that operators add. An entry can send any secret of the server to another host, so only the console may. */
export function operatorModelRoutes(parts: ModelAdminParts) {
  const { models, modelAdmin } = parts
  const listed = (some: readonly Model[]): OperatorModels => ({ models: some.map(wireModel) })
  return routeGroup({ name: 'operator-models', prefix: '/api/operator/models' })
    .get('', ...allowed(CONSOLE_ONLY, UNDOCUMENTED, () => listed(models.list())))
    .post(
      '',
      ...command(
        CONSOLE_ONLY,
        PutModel,
        async (actor, { entry }) => {
          const model = await modelAdmin.put(actor, entry)
          return model.ok ? ok(listed([model.value])) : model
        },
        OPERATOR_BODY,
      ),
    )
    .post(
      '/prices',
      ...command(CONSOLE_ONLY, ReviewPrices, (actor, form) => reviewedPrices(parts, actor, form), OPERATOR_BODY),
    )
    .post(
      '/:id/price',
      ...command(CONSOLE_ONLY, PriceModel, async (actor, { price }, { id }: Id) => {
        const model = await modelAdmin.setPrice(actor, id, price)
        return model.ok ? ok(listed([model.value])) : model
      }),
    )
    .delete('/:id', ...command(CONSOLE_ONLY, NoBody, (actor, _form, { id }: Id) => modelAdmin.remove(actor, id)))
}
