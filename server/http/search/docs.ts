import type { Operation, OperationName } from '../../core/catalog/operation'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { FailureCode } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { KEY_REFUSALS } from '../keys/key-failures'
import { JSON_FAILURES, PAYMENT_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import type { JsonSchema } from '../openapi/json-schema'
import { bodySchema } from '../openapi/parameter-documents'
import { SOCIAL_FAILURES, SOCIAL_RESULTS } from '../social/docs'
import { ImageSearchResult, LlmContextResult } from './record'

const DATA_FAILURES: readonly FailureCode[] = [
  'missing_parameter',
  'invalid_parameter',
  ...KEY_REFUSALS,
  'insufficient_permissions',
  ...PAYMENT_FAILURES,
  'insufficient_api_key_balance',
  'insufficient_balance',
  'not_acceptable',
  'payment_in_progress',
  'idempotency_conflict',
  'answer_not_kept',
  'estimated_price_exceeds_max_price',
  'rate_limit_exceeded',
  'upstream_rate_limit',
  'quota_exceeded',
  'internal_error',
  'upstream_error',
  'service_unavailable',
  'payment_pending',
  'payment_network_unavailable',
  'upstream_unavailable',
  'upstream_timeout',
]

const IMAGES_EXAMPLE = {
  type: 'images',
  query: { original: 'credit card', spellcheck_off: true, show_strict_warning: false },
  results: [
    {
      type: 'image_result',
      title: 'credit card',
      url: 'https://lucide.dev/icons/credit-card',
      source: 'lucide.dev',
      page_fetched: '2026-11-21T08:00:00Z',
      thumbnail: { src: 'https://api.example.com/media/lucide/credit-card.svg', width: 24, height: 24 },
      properties: {
        url: 'https://api.example.com/media/lucide/credit-card.svg',
        placeholder: 'https://api.example.com/media/lucide/credit-card.svg',
        width: 24,
        height: 24,
      },
      meta_url: {
        scheme: 'https',
        netloc: 'lucide.dev',
        hostname: 'lucide.dev',
        favicon: 'https://lucide.dev/favicon.ico',
        path: '› icons › credit-card',
      },
      confidence: 'high',
    },
  ],
  extra: { might_be_offensive: false },
}

const CONTEXT_EXAMPLE = {
  query: { original: 'drizzle relations', spellcheck_off: true },
  grounding: {
    generic: [
      {
        url: 'https://orm.drizzle.team/docs/relations',
        title: 'Drizzle relations',
        snippets: ['Relations tell Drizzle how tables are connected, so that one query can read them all.'],
      },
    ],
    poi: null,
    map: [],
  },
  sources: {
    'https://orm.drizzle.team/docs/relations': { title: 'Drizzle relations', hostname: 'orm.drizzle.team', age: [] },
  },
}

/** The result of each operation. An operation without a row does not compile. */
const RESULTS: Readonly<Record<OperationName, { readonly schema: JsonSchema; readonly example: unknown }>> = {
  'image-search': { schema: ImageSearchResult, example: IMAGES_EXAMPLE },
  'llm-context': { schema: LlmContextResult, example: CONTEXT_EXAMPLE },
  ...SOCIAL_RESULTS,
}

const SENT_ONCE =
  'It is sent to the network only once. If the outcome is unknown, the response is 504 `upstream_timeout`: the action may have taken effect, and it is not charged.'

/** Documents the route of a catalog operation. Everything except the result schema comes from the catalog. */
export function dataDocs(operation: Operation<ParameterTable>, method: 'GET' | 'POST'): EndpointDocs {
  const { schema, example } = RESULTS[operation.name]
  const post = method === 'POST'
  const needsKey = operation.payable !== true
  const alsoGet = post && operation.methods.includes('GET')
  return {
    id: alsoGet ? `${camel(operation.name)}Post` : camel(operation.name),
    tag: needsKey ? 'Social' : 'Data',
    summary: alsoGet ? `${operation.title}, parameters in a JSON body` : operation.title,
    description: [
      operation.description,
      `Catalog price: ${formatUsd(operation.price)} USD per ${operation.unit === 'request' ? 'successful request' : operation.unit}; failed requests are free.`,
      'Your account may have different prices: `X-Cost-Mode: quote` returns yours.',
      `An \`Accept\` header must allow JSON. ${needsKey ? 'Needs a key with a linked social account.' : 'Without a key it returns 402 with the price.'}`,
      ...(operation.effect === 'write' ? [SENT_ONCE] : []),
      ...(alsoGet ? ['The same as GET, with the query parameters as one flat JSON object. Headers stay headers.'] : []),
    ].join('\n\n'),
    ...(post && {
      body: requestBody(
        alsoGet ? 'The query parameters of the GET form as properties.' : 'The parameters.',
        bodySchema(operation.parameters),
        { simple: operation.example },
      ),
    }),
    answers: {
      200: {
        description: 'The result. With `X-Cost-Mode: quote` the response is a `Quote` instead (see Schemas).',
        schema,
        examples: { result: example },
        canBeQuote: true,
        headers: [...(needsKey ? [] : (['API-Version', 'Age'] as const)), 'Idempotency-Replayed'],
      },
    },
    failures: [
      ...DATA_FAILURES.filter((code) => !(needsKey && code === 'payment_required')).filter(
        (code) => code !== 'missing_parameter' || takesRequired(operation),
      ),
      ...(needsKey ? SOCIAL_FAILURES : []),
      ...(operation.effect === 'write' ? (['outcome_unknown'] as const) : []),
      ...(post ? JSON_FAILURES : []),
    ],
    price: operation.price,
    operation: operation.name,
    passesUpstreamErrors: true,
  }
}

/** The parameters of one form of an operation. In the POST form, query parameters are properties of the body instead. */
export function routeParameters(operation: Operation<ParameterTable>, method: 'GET' | 'POST'): ParameterTable {
  if (method === 'GET') return operation.parameters
  return Object.fromEntries(Object.entries(operation.parameters).filter(([, rule]) => rule.in === 'header'))
}

function takesRequired({ parameters }: Pick<Operation, 'parameters'>): boolean {
  return Object.values(parameters).some((rule) => rule.required === true)
}

function camel(name: string): string {
  return name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
}
