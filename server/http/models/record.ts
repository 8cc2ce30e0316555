import type { Static } from '@sinclair/typebox'
import { MODEL_ROUTES, type Model, routesOf } from '../../core/models/model'
import { RATE_NAMES } from '../../core/models/model-file-schema'
import type { PriceRule, TokenRates } from '../../core/models/token-price'
import { COUNTED_UNITS, isUnitPrice, type ModelPrice } from '../../core/models/unit-price'
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

const usd = (description: string) => opaque<number>({ type: 'number', description })
const RATE = usd('USD per million tokens.')
// The loop loses the names.
const RATES = Object.fromEntries(RATE_NAMES.map((name) => [name, RATE])) as Record<keyof TokenRates, typeof RATE>

const RULE_MEMBERS = {
  above: whole('Only calls with more input tokens, which cost the same from their first token on.'),
  tier: text('Only calls that the vendor served at this tier.'),
  ...RATES,
  request: usd('USD per call, in addition to its tokens.'),
  tools: opaque<Readonly<Record<string, number>>>({
    type: 'object',
    additionalProperties: { type: 'number' },
    description: "USD per use of each of the vendor's own tools.",
  }),
}
const PriceRuleRecord = record('The price of calls that meet its conditions.', RULE_MEMBERS, [
  ...RATE_NAMES,
  'above',
  'tier',
  'request',
  'tools',
])
type PriceRuleRecord = Static<typeof PriceRuleRecord>

export const PricingRecord = record(
  'Prices. USD per million tokens by kind, and fees; or `characters`, `seconds`, `searches` or `images`. With several `rules`, the members beside them are those of the last one, which is for calls that meet no other.',
  {
    ...RULE_MEMBERS,
    rules: listOf(PriceRuleRecord, 'The first whose conditions a call meets is its price.'),
    characters: usd('USD per million characters.'),
    seconds: usd('USD per million seconds of sound.'),
    searches: usd('USD per search unit: a query with up to 100 short documents.'),
    edits: usd('USD per picture that is sent to be edited, in addition.'),
    images: listOf(
      record(
        'One size and quality. Without either: of any, or of a call that names none.',
        {
          size: text('The value of `size`.'),
          quality: text('The value of `quality`.'),
          usd: usd('USD per picture.'),
        },
        ['size', 'quality'],
      ),
      'Prices of a picture. The first is of calls that name no size or quality.',
    ),
  },
  [...RATE_NAMES, 'above', 'tier', 'request', 'tools', 'rules', 'characters', 'seconds', 'searches', 'images', 'edits'],
)

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
    pricing: PricingRecord,
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

/** A price as callers and operators see it. */
export function wirePrice(price: ModelPrice): ModelRecord['pricing'] {
  if (isUnitPrice(price)) {
    if (price.unit !== 'image') return { [COUNTED_UNITS[price.unit].item]: toUsdNumber(price.amount) }
    const edits = price.edits === undefined ? {} : { edits: toUsdNumber(price.edits) }
    if (price.amount !== null) return { images: [{ usd: toUsdNumber(price.amount) }], ...edits }
    return {
      ...edits,
      images: price.sizes.map(({ size, quality, amount }) => ({
        ...(size !== null && { size }),
        ...(quality !== null && { quality }),
        usd: toUsdNumber(amount),
      })),
    }
  }
  const rules = price.map(wireRule)
  // The last rule has no condition.
  return { ...rules.at(-1), ...(rules.length > 1 && { rules }) }
}

function wireRule({ rates, above, tier, request, tools }: PriceRule): PriceRuleRecord {
  return {
    ...(above !== undefined && { above }),
    ...(tier !== undefined && { tier }),
    ...Object.fromEntries(Object.entries(rates).map(([name, amount]) => [name, toUsdNumber(amount)])),
    ...(request !== undefined && { request: toUsdNumber(request) }),
    ...(tools && {
      tools: Object.fromEntries(Object.entries(tools).map(([name, { amount }]) => [name, toUsdNumber(amount)])),
    }),
  }
}
