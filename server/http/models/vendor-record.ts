import type { Static } from '@sinclair/typebox'
import type { Parameters, ParameterTable } from '../../core/catalog/parameters'
import { isoTime } from '../../core/clock'
import { type Model, type ModelRoute, routesOf } from '../../core/models/model'
import { listOf, named, oneOf, orNull, record, text, whole, withExample, yesOrNo } from '../openapi/json-schema'

const RECHARGE = yesOrNo('Whether an account must have topped up before it can call this model.')

export const AnthropicModel = named(
  'AnthropicModel',
  record("One model in Anthropic's format.", {
    type: oneOf(['model'], 'Always `model`.'),
    id: withExample('sandbox/echo', text('The id to send as `model`.')),
    display_name: text('The same id.'),
    created_at: withExample('2026-01-01T00:00:00.000Z', text('When it was added, in RFC 3339.')),
    lifecycle: oneOf(['active'], 'Always `active`.'),
    deprecated_at: orNull(text('Always null.')),
    retires_at: orNull(text('Always null.')),
    line: orNull(text('Always null.')),
    capabilities: orNull(text('Always null: the gateway does not know them.')),
    max_input_tokens: orNull(whole('Maximum input tokens; null when unknown.')),
    max_tokens: orNull(whole('Maximum output tokens; null when unknown.')),
    recharge_required: RECHARGE,
  }),
)
type AnthropicModel = Static<typeof AnthropicModel>

export const AnthropicModelList = named(
  'AnthropicModelList',
  record('The models that can be called by `POST /v1/messages`.', {
    data: listOf(AnthropicModel, 'The models, sorted by id.'),
    has_more: yesOrNo('Whether there are more in this direction.'),
    first_id: orNull(text('The first id, for `before_id`.')),
    last_id: orNull(text('The last id, for `after_id`.')),
  }),
)

export const GoogleModel = named(
  'GoogleModel',
  record(
    "One model in Google's format.",
    {
      name: withExample('models/sandbox/echo', text('`models/` and its id.')),
      baseModelId: text('Its id.'),
      version: text('Its price version.'),
      displayName: text('Its id.'),
      inputTokenLimit: whole('Maximum input tokens, if known.'),
      outputTokenLimit: whole('Maximum output tokens, if known.'),
      supportedGenerationMethods: listOf(
        withExample('generateContent', text('A method.')),
        'What can be called on it.',
      ),
      recharge_required: RECHARGE,
    },
    ['inputTokenLimit', 'outputTokenLimit'],
  ),
)
type GoogleModel = Static<typeof GoogleModel>

export const GoogleModelList = named(
  'GoogleModelList',
  record(
    "The models that can be called by Google's methods.",
    {
      models: listOf(GoogleModel, 'The models, sorted by id.'),
      nextPageToken: text('`pageToken` of the next page, if there is one.'),
    },
    ['nextPageToken'],
  ),
)

/** The query of a list in Anthropic's format. */
export const ANTHROPIC_PAGE = {
  limit: { in: 'query', kind: 'integer', min: 1, max: 1000, default: 20, description: 'Maximum number of models.' },
  after_id: { in: 'query', kind: 'text', min: 1, max: 200, description: 'Only models after this id.' },
  before_id: { in: 'query', kind: 'text', min: 1, max: 200, description: 'Only models before this id.' },
} as const satisfies ParameterTable

/** The query of a list in Google's format. */
export const GOOGLE_PAGE = {
  pageSize: { in: 'query', kind: 'integer', min: 1, max: 1000, default: 50, description: 'Maximum number of models.' },
  pageToken: { in: 'query', kind: 'text', min: 1, max: 200, description: '`nextPageToken` of the page before.' },
} as const satisfies ParameterTable

export function anthropicModel(model: Model): AnthropicModel {
  return {
    type: 'model',
    id: model.id,
    display_name: model.id,
    created_at: isoTime(model.created * 1000),
    lifecycle: 'active',
    deprecated_at: null,
    retires_at: null,
    line: null,
    capabilities: null,
    max_input_tokens: model.contextTokens,
    max_tokens: model.maxOutputTokens,
    recharge_required: model.rechargeRequired,
  }
}

/** A page of the models that Anthropic's SDK can call. `models` is sorted by id. */
export function anthropicList(
  models: readonly Model[],
  { limit, after_id: after, before_id: before }: Parameters<typeof ANTHROPIC_PAGE>,
): Static<typeof AnthropicModelList> {
  const known = models.filter((model) => routesOf(model).includes('messages'))
  const left = known.filter(({ id }) => (after === undefined || id > after) && (before === undefined || id < before))
  // Before an id, a page has the models that are next to it.
  const page = before !== undefined && after === undefined ? left.slice(-limit) : left.slice(0, limit)
  return {
    data: page.map(anthropicModel),
    has_more: page.length < left.length,
    first_id: page[0]?.id ?? null,
    last_id: page.at(-1)?.id ?? null,
  }
}

const GOOGLE_METHODS: Readonly<Partial<Record<ModelRoute, readonly string[]>>> = {
  generate_content: ['generateContent', 'streamGenerateContent'],
  count_tokens: ['countTokens'],
  embed_content: ['embedContent'],
  batch_embed_contents: ['batchEmbedContents'],
}

export function googleModel(model: Model): GoogleModel {
  return {
    name: `models/${model.id}`,
    baseModelId: model.id,
    version: model.priceVersion,
    displayName: model.id,
    ...(model.contextTokens !== null && { inputTokenLimit: model.contextTokens }),
    ...(model.maxOutputTokens !== null && { outputTokenLimit: model.maxOutputTokens }),
    supportedGenerationMethods: googleMethods(model),
    recharge_required: model.rechargeRequired,
  }
}

/** A page of the models that Google's SDK can call. `models` is sorted by id. */
export function googleList(
  models: readonly Model[],
  { pageSize, pageToken: after }: Parameters<typeof GOOGLE_PAGE>,
): Static<typeof GoogleModelList> {
  const left = models.filter((model) => googleMethods(model).length > 0 && (after === undefined || model.id > after))
  const page = left.slice(0, pageSize)
  const last = page.at(-1)
  return { models: page.map(googleModel), ...(last && page.length < left.length && { nextPageToken: last.id }) }
}

function googleMethods(model: Model): readonly string[] {
  return routesOf(model).flatMap((route) => GOOGLE_METHODS[route] ?? [])
}
