import type { Static } from '@sinclair/typebox'
import { MODEL_ROUTES, type Model, routesOf } from '../../core/models/model'
import { isUnitPrice, type ModelPrice } from '../../core/models/unit-price'
import { toUsdNumber } from '../../core/money'
import {
  anyObject,
  form,
  listOf,
  microsUsd,
  named,
  oneOf,
  opaque,
  orNull,
  record,
  text,
  whole,
  withExample,
  withRule,
  yesOrNo,
} from '../openapi/json-schema'

const RATE = opaque<number>({ type: 'number', description: 'USD per million tokens.' })

export const ModelRecord = named(
  'Model',
  record('One model.', {
    id: withExample('sandbox/echo', text('The id to send as `model`.')),
    object: oneOf(['model'], 'Always `model`.'),
    created: whole('UNIX time in seconds.'),
    owned_by: text('The vendor of the model.'),
    recharge_required: yesOrNo(
      'Whether an account must have topped up before it can call this model. If false, signup credit is enough.',
    ),
    supported_endpoint_types: listOf(oneOf(MODEL_ROUTES, 'A route.'), 'The routes it can be called on.'),
    pricing: record(
      'Prices. Per token: `input`, `output`, `cache_read`, `cache_write`, and `cache_write_1h` for content cached for one hour, if it has its own price. Otherwise `characters`, or `images`.',
      {
        input: RATE,
        output: RATE,
        cache_read: RATE,
        cache_write: RATE,
        cache_write_1h: RATE,
        characters: opaque<number>({ type: 'number', description: 'USD per million characters.' }),
        images: listOf(
          record(
            'One size and quality. Without either: of any, or of a call that names none.',
            {
              size: text('The value of `size`.'),
              quality: text('The value of `quality`.'),
              usd: opaque<number>({ type: 'number', description: 'USD per picture.' }),
            },
            ['size', 'quality'],
          ),
          'Prices of a picture. The first is of calls that name no size or quality.',
        ),
      },
      ['input', 'output', 'cache_read', 'cache_write', 'cache_write_1h', 'characters', 'images'],
    ),
    price_version: text('The price version, recorded with every charge.'),
    context_tokens: orNull(whole('Maximum input tokens; null when unknown.')),
    max_output_tokens: orNull(whole('Maximum output tokens; null when unknown.')),
  }),
)
export type ModelRecord = Static<typeof ModelRecord>

export const ModelList = named(
  'ModelList',
  record('All models.', {
    object: oneOf(['list'], 'Always `list`.'),
    data: listOf(ModelRecord, 'The models, sorted by id.'),
  }),
)
export type ModelList = Static<typeof ModelList>

/** A call to estimate. */
export const NewCallEstimate = form('A call to estimate.', {
  endpoint_type: oneOf(MODEL_ROUTES, 'The route.'),
  model: withRule('must be the id of a model', text('The model. Repeat it in the body if the route expects it there.')),
  body: anyObject("The vendor's own body."),
})

export const CallEstimate = named(
  'CallEstimate',
  record('The maximum cost of a model call.', {
    model: text('The model.'),
    price_version: text('The version of its price.'),
    most_micros_usd: microsUsd('The maximum cost of the call. This amount is held while it runs.', { minimum: 0 }),
    likely_input_tokens: whole('The likely number of input tokens.', { minimum: 0 }),
    most_input_tokens: whole('The maximum number of input tokens in the body.', { minimum: 0 }),
    most_output_tokens: whole('The output cap multiplied by the number of completions.', { minimum: 0 }),
  }),
)
export type CallEstimate = Static<typeof CallEstimate>

/** A model as callers and operators see it (spec D8). */
export function wireModel(model: Model): ModelRecord {
  return {
    id: model.id,
    object: 'model',
    created: model.created,
    owned_by: model.ownedBy,
    recharge_required: model.rechargeRequired,
    supported_endpoint_types: routesOf(model),
    pricing: wirePrice(model.price),
    price_version: model.priceVersion,
    context_tokens: model.contextTokens,
    max_output_tokens: model.maxOutputTokens,
  }
}

function wirePrice(price: ModelPrice): ModelRecord['pricing'] {
  if (isUnitPrice(price)) {
    if (price.unit === 'character') return { characters: toUsdNumber(price.amount) }
    if (price.amount !== null) return { images: [{ usd: toUsdNumber(price.amount) }] }
    return {
      images: price.sizes.map(({ size, quality, amount }) => ({
        ...(size !== null && { size }),
        ...(quality !== null && { quality }),
        usd: toUsdNumber(amount),
      })),
    }
  }
  const { input, output, cacheRead, cacheWrite, cacheWriteHour } = price
  return {
    input: toUsdNumber(input),
    output: toUsdNumber(output),
    cache_read: toUsdNumber(cacheRead),
    cache_write: toUsdNumber(cacheWrite),
    ...(cacheWriteHour !== undefined && { cache_write_1h: toUsdNumber(cacheWriteHour) }),
  }
}
