import { type Model, routesOf } from '../../core/models/model'
import { toUsdNumber } from '../../core/money'

/** A model as callers and operators see it (spec-answers 8). */
export function wireModel(model: Model) {
  const { input, output, cacheRead, cacheWrite, cacheWriteHour } = model.price
  return {
    id: model.id,
    object: 'model' as const,
    created: model.created,
    owned_by: model.ownedBy,
    recharge_required: model.rechargeRequired,
    supported_endpoint_types: routesOf(model),
    pricing: {
      input: toUsdNumber(input),
      output: toUsdNumber(output),
      cache_read: toUsdNumber(cacheRead),
      cache_write: toUsdNumber(cacheWrite),
      ...(cacheWriteHour !== undefined && { cache_write_1h: toUsdNumber(cacheWriteHour) }),
    },
    price_version: model.priceVersion,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
  }
}
