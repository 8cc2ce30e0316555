import { OPERATIONS } from '../../core/catalog/operations'
import { ALL_MODELS, overriddenModel } from '../../core/catalog/prices'
import { failure } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { err } from '../../core/result'
import { routeGroup } from '../middleware/request-context'
import { UNDOCUMENTED } from '../openapi/documented'
import { allowed } from '../routing/api-access'
import { OperatorCommands } from './operator-commands'
import { command, operatorRoles } from './operator-roles'
import { modelPriceRecord, NewModelPrice, NewPrice, type OperatorPrices, priceRecord } from './record'
import type { OperatorRouteParts } from './routes'

/** For operators: sets prices of operations (spec D4), and what accounts pay of the list prices of models. Every change is audited. */
export function operatorPriceRoutes(parts: OperatorRouteParts) {
  const { prices, models, owners } = parts
  const orders = new OperatorCommands(parts)
  const { operator } = operatorRoles(owners)
  return routeGroup({ name: 'operator-prices', prefix: '/api/operator' })
    .get(
      '/prices',
      ...allowed(operator(), UNDOCUMENTED, async (): Promise<OperatorPrices> => {
        const all = Map.groupBy(prices.all(), (one) => (overriddenModel(one) === null ? 'operations' : 'models'))
        return {
          catalogue: Object.values(OPERATIONS).map(({ name, price }) => ({ operation: name, usd: formatUsd(price) })),
          prices: all.get('operations')?.map(priceRecord) ?? [],
          models: all.get('models')?.map(modelPriceRecord) ?? [],
        }
      }),
    )
    .post('/prices', ...command(operator(), NewPrice, (actor, form) => orders.setPrice(actor, form)))
    .post(
      '/model-prices',
      ...command(operator(), NewModelPrice, async (actor, { model = ALL_MODELS, ...form }) => {
        if (model === ALL_MODELS || models.byId(model)) return orders.setModelPrice(actor, { ...form, model })
        return err(failure('resource_not_found', 'There is no such model.', { param: 'model' }))
      }),
    )
}
