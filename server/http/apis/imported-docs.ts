import type { ApiBody, ApiOperation, ApiParameter, ApiPrice, DataSchema } from '../../core/apis/api'
import type { ApiRoutes, SoldOperation } from '../../core/apis/api-routes'
import { maximumOf, minimumOf } from '../../core/apis/prices/price'
import { isJson } from '../../core/json'
import { formatUsd } from '../../core/money'
import { KEY_FAILURES } from '../keys/key-failures'
import { type Access, operationOf } from '../openapi/documented'
import type { JsonSchema } from '../openapi/json-schema'
import type { ImportedPaths, OpenApiOperation, PriceLimits } from '../openapi/open-api'
import { priceRecordOf } from './price-record'

type Schemas = Record<string, JsonSchema>

/**
 * The operations on sale in the form of the API documents, by path and method. `isPayable`: a caller without a key may pay for it.
 * `priceOf`: what everybody pays now.
 */
export function importedDocument(
  routes: ApiRoutes,
  isPayable: (sold: SoldOperation) => boolean,
  priceOf: (sold: SoldOperation) => ApiPrice,
): ImportedPaths {
  const schemas: Schemas = {}
  const paths: Record<string, Record<string, OpenApiOperation>> = {}
  for (const sold of routes.operations) {
    const operation = { ...sold.operation, price: priceOf(sold) }
    const path = `/apis/v1/${sold.api.name}${operation.path}`
    const item = paths[path] ?? {}
    item[operation.method.toLowerCase()] = documentOf(operation, schemas, isPayable(sold) ? 'key or payment' : 'key')
    paths[path] = item
  }
  return { paths, schemas }
}

function documentOf(operation: ApiOperation, schemas: Schemas, access: Access): OpenApiOperation {
  const { name, title, description, parameters, body, price, toolName, success, effect } = operation
  const base = operationOf(
    {
      id: toolName,
      tag: 'Catalog',
      summary: title,
      description: description || title,
      operation: name,
      answers: {
        [success.minStatus]: { description: 'The answer of the upstream, as it came.', schema: {}, examples: {} },
      },
      failures: effect === 'write' ? [...FAILURES, 'outcome_unknown'] : FAILURES,
      ...(price.mode === 'fixed' && { price: price.amount }),
    },
    access,
    [],
  )
  return {
    ...base,
    parameters: parameters.map(({ in: where, schema, ...parameter }, i) => ({
      name: parameter.name,
      in: where,
      description: parameter.description,
      required: parameter.required,
      ...writtenBy(parameter, shared(schema, `${toolName}_${i}`, schemas)),
    })),
    ...(body && {
      requestBody: {
        description: 'The body.',
        required: body.required,
        content: {
          [body.contentType]: {
            schema: shared(body.schema, `${toolName}_body`, schemas),
            examples: {},
            ...(body.encoding && { encoding: fieldEncoding(body.encoding) }),
          },
        },
      },
    }),
    'x-api-price': priceRecordOf(price),
    'x-effect': effect,
    ...(access === 'key or payment' && price.mode !== 'fixed' && { 'x-price-limits': limitsOf(operation) }),
  } as OpenApiOperation
}

/** How callers write a parameter. They send every style of a path as `simple`. */
function writtenBy({ style, explode }: Pick<ApiParameter, 'style' | 'explode'>, schema: unknown) {
  if (style === 'json') return { content: { 'application/json': { schema } } }
  return { schema, style: style === 'label' || style === 'matrix' ? 'simple' : style, explode }
}

function fieldEncoding(encoding: NonNullable<ApiBody['encoding']>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(encoding).map(([name, { style, explode }]) => [
      name,
      style === 'json' ? { contentType: 'application/json' } : { style, explode },
    ]),
  )
}

/** The limits of a price that follows from the answer, for any input. */
function limitsOf({ price, parameters }: ApiOperation): PriceLimits {
  const largest = (name: string) => {
    const schema = parameters.find((parameter) => parameter.in === 'query' && parameter.name === name)?.schema
    return Number(Object(schema).maximum)
  }
  const [minimum, maximum] = [formatUsd(minimumOf(price)), formatUsd(maximumOf(price, largest))]
  return { currency: 'USD', minimum, maximum }
}

/**
 * A schema in the form of the API documents. One with definitions becomes schemas of `components`: many readers of OpenAPI resolve every
 * reference from the document's root. `true` allows everything.
 */
function shared(schema: DataSchema, name: string, schemas: Schemas): JsonSchema {
  if (typeof schema === 'boolean') return schema ? {} : { not: {} }
  const { $defs, ...rest } = schema
  if (!isJson($defs)) return schema
  const names = new Map(Object.keys($defs).map((definition, i) => [definition, `${name}_${i}`]))
  const targetOf = (reference: string) => {
    const [, , definition = '', ...below] = reference.split('/')
    const target = names.get(unescaped(definition)) ?? name
    return ['#/components/schemas', target, ...below].join('/')
  }
  const moved = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(moved)
    if (!isJson(value)) return value
    return Object.fromEntries(
      Object.entries(value).map(([key, part]) => {
        if (DATA.includes(key)) return [key, part]
        return [key, key === '$ref' && typeof part === 'string' ? targetOf(part) : moved(part)]
      }),
    )
  }
  for (const [definition, part] of Object.entries($defs))
    schemas[names.get(definition) ?? ''] = moved(part) as JsonSchema
  schemas[name] = moved(rest) as JsonSchema
  return { $ref: `#/components/schemas/${name}` }
}

const DATA = ['enum', 'const', 'default', 'examples']

/** A token of a JSON Pointer in a URI (RFC 6901 6). */
function unescaped(token: string): string {
  return decodeURIComponent(token).replaceAll('~1', '/').replaceAll('~0', '~')
}

const FAILURES = [
  ...KEY_FAILURES,
  ...(['missing_parameter', 'invalid_parameter', 'insufficient_balance'] as const),
  ...(['insufficient_api_key_balance', 'insufficient_permissions', 'estimated_price_exceeds_max_price'] as const),
  ...(['idempotency_conflict', 'answer_not_kept', 'quota_exceeded'] as const),
  ...(['upstream_error', 'upstream_unavailable', 'upstream_timeout'] as const),
]
