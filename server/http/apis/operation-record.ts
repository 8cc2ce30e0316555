import type { Static } from '@sinclair/typebox'
import {
  API_METHODS,
  type ApiBody,
  type ApiOperation,
  FIELD_STYLES,
  JSON_TYPE,
  type SuccessCondition,
} from '../../core/apis/api'
import { MAX_DESCRIPTION, MAX_TITLE } from '../../core/apis/api-rules'
import type { OperationChange as CoreChange, OperationForm } from '../../core/apis/catalog/catalog-form'
import { isJson } from '../../core/json'
import { formatUsd, type Money, parseUsd } from '../../core/money'
import { readable } from '../middleware/input/validate-body'
import {
  anyObject,
  checked,
  form,
  line,
  listOf,
  named,
  oneOf,
  orNull,
  prose,
  record,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'
import { apiPriceOf, PriceRecord, priceRecordOf } from './price-record'

const MAX_LIST = 200
const MAX_HEADERS = 30
const MAX_EXAMPLES = 20

const SCHEMA = checked<boolean | Readonly<Record<string, unknown>>>(
  { description: 'A JSON Schema (2020-12), an object or a boolean, that refers to its own `$defs` only.' },
  (value) => (typeof value === 'boolean' || isJson(value) ? null : 'must be a JSON Schema'),
)

const Parameter = form(
  'A parameter that callers may send. Everything that is not declared is refused.',
  {
    name: text('Its name.', { minLength: 1, maxLength: 100 }),
    in: oneOf(['path', 'query', 'header'], 'Where it is sent.'),
    required: yesOrNo('Whether it must be sent. Default: false; of a path parameter, true.'),
    description: text('What it is for.', { maxLength: MAX_DESCRIPTION }),
    schema: SCHEMA,
    style: oneOf(
      ['simple', 'label', 'matrix', 'form', 'deepObject', 'spaceDelimited', 'pipeDelimited', 'json'],
      'How a list or an object is written (OpenAPI); `json`: its text is JSON. Callers send `label` and `matrix` as `simple`. Default: form in the query, simple elsewhere.',
    ),
    explode: yesOrNo('Whether each entry is written by itself (OpenAPI). Default: true for form, else false.'),
    default: checked<unknown>({ description: 'Sent when the caller omits it.' }, () => null),
  },
  ['required', 'description', 'style', 'explode', 'default'],
)

const FIELD_ENCODING = {
  type: 'object',
  properties: { style: { enum: FIELD_STYLES }, explode: { type: 'boolean' } },
  required: ['style', 'explode'],
  additionalProperties: false,
}

function isEncoding(value: unknown): boolean {
  if (!isJson(value)) return false
  const { style, explode, ...others } = value
  const isStyle = FIELD_STYLES.some((one) => one === style)
  return isStyle && typeof explode === 'boolean' && Object.keys(others).length === 0
}

const BODY_TYPE = new RegExp(`${JSON_TYPE.source}|^application/x-www-form-urlencoded$|^multipart/form-data$`)

const Body = form(
  'The body that callers may send.',
  {
    content_type: checked<ApiBody['contentType']>(
      {
        type: 'string',
        maxLength: 100,
        description:
          'Its type for the upstream: `application/json`, another type of JSON such as `application/merge-patch+json`, `application/x-www-form-urlencoded` or `multipart/form-data`.',
      },
      (value) => (typeof value === 'string' && BODY_TYPE.test(value) ? null : 'must be a type of JSON or of a form'),
    ),
    required: yesOrNo('Whether it must be sent. Default: true.'),
    schema: SCHEMA,
    encoding: checked<NonNullable<ApiBody['encoding']>>(
      {
        type: 'object',
        description:
          'How fields of a form are written, by name, as a query parameter is: `{"metadata": {"style": "deepObject", "explode": true}}`. Default: each element of a list as a field, an object as JSON.',
        additionalProperties: FIELD_ENCODING,
      },
      (value) =>
        isJson(value) && Object.values(value).every(isEncoding) ? null : 'must name a style and explode for each',
    ),
  },
  ['required', 'encoding'],
)

// With a type of its own: the method `equals(Object)` of a generated class would be Java's, and not compile.
const MAX_COMPARED = 1000
const SCALAR = {
  anyOf: [{ type: 'string', maxLength: MAX_COMPARED }, { type: 'number' }, { type: 'boolean' }, { type: 'null' }],
}

const Condition = checked<
  { pointer: string; equals: string | number | boolean | null } | { pointer: string; not_empty: true }
>(
  {
    type: 'object',
    description:
      'A condition on the JSON of the answer: `{"pointer": "/ok", "equals": true}` or `{"pointer": "/results", "not_empty": true}`.',
    properties: {
      pointer: { type: 'string', maxLength: MAX_COMPARED },
      equals: SCALAR,
      not_empty: { type: 'boolean', description: 'True.' },
    },
    required: ['pointer'],
    additionalProperties: false,
  },
  (value) => {
    const { pointer, equals, not_empty, ...rest } = Object(value)
    const isScalar = equals === null || ['string', 'number', 'boolean'].includes(typeof equals)
    const isShort = [pointer, equals].every((text) => typeof text !== 'string' || text.length <= MAX_COMPARED)
    const one = 'equals' in Object(value) ? isScalar && not_empty === undefined : not_empty === true
    return typeof pointer === 'string' && isShort && one && Object.keys(rest).length === 0
      ? null
      : `must be a pointer with either equals or "not_empty": true, of at most ${MAX_COMPARED} characters`
  },
)

const Success = form(
  'Which answers of the upstream are successes, and are charged. Default: every 2xx. Beyond 2xx only 400, 404 to 406, 409 to 416 and 422 count, and no stream.',
  {
    min_status: whole('The lowest status.', { minimum: 200, maximum: 599 }),
    max_status: whole('The highest status.', { minimum: 200, maximum: 599 }),
    conditions: listOf(Condition, 'All of them must hold.', { maxItems: 20 }),
  },
  ['conditions'],
)

const Example = form('An example call.', {
  title: line('What it shows.', MAX_TITLE),
  input: anyObject('Parameters by name; a body under `body`.'),
})

const UPSTREAM_COST = checked<string>(
  {
    type: 'string',
    description: 'Your cost of a call at the upstream, in US dollars as text, for reports on margin.',
  },
  (value) =>
    typeof value === 'string' && parseUsd(value) !== null ? null : 'must be US dollars as text, such as "0.001"',
)
const HEADERS = (description: string) =>
  listOf(text('A header name.', { minLength: 1, maxLength: 100 }), description, { maxItems: MAX_HEADERS })

const REQUIRED = {
  id: text('The part of its name after the API: letters, digits, `_` and `-`.', { minLength: 1, maxLength: 64 }),
  method: oneOf(API_METHODS, 'The method, for callers and for the upstream.'),
  path: text('A template such as `/v1/cities/{city}/forecast`.', { minLength: 1, maxLength: 500 }),
  price: PriceRecord,
}

const OPTIONAL = {
  title: line('A short title. Default: method and path.', MAX_TITLE),
  description: prose('What it does.', MAX_DESCRIPTION, 0),
  parameters: listOf(Parameter, 'The parameters that callers may send.', { maxItems: MAX_LIST }),
  body: orNull(Body, 'no body'),
  success: Success,
  upstream_cost_usd: orNull(UPSTREAM_COST, 'not known'),
  pay_per_request: orNull(
    yesOrNo(
      'Whether callers without an account may pay for a call (402). A payment may fail to settle after the upstream was asked: you bear that cost.',
    ),
    'only if the upstream needs no credential',
  ),
  effect: oneOf(
    ['read', 'write'],
    'Whether it changes something. Writes are never repeated. Default: read for GET only.',
  ),
  idempotency_header: orNull(text('A header that carries our request id to the upstream.', { maxLength: 100 }), 'none'),
  refused_statuses: listOf(
    whole('A 4xx status.', { minimum: 400, maximum: 499 }),
    'Statuses by which the upstream says that a write did nothing. They free its Idempotency-Key.',
    { maxItems: 50 },
  ),
  answer: oneOf(['whole', 'stream'], 'Whether the answer is passed on as a whole, or as it comes.'),
  headers_up: HEADERS('Further request headers that are passed to the upstream.'),
  headers_down: HEADERS("Further headers of the upstream's answer that are passed to the caller."),
  examples: listOf(Example, 'Example calls.', { maxItems: MAX_EXAMPLES }),
  enabled: yesOrNo('Whether it is on sale. Default: true.'),
}
const OPTIONAL_NAMES = Object.keys(OPTIONAL) as (keyof typeof OPTIONAL)[]

/** An operation to sell. */
export const NewOperation = named(
  'ApiOperationForm',
  form('An operation to put on sale.', { ...REQUIRED, ...OPTIONAL }, OPTIONAL_NAMES),
)
export type NewOperation = Static<typeof NewOperation>

const { id, ...CHANGEABLE } = { ...REQUIRED, ...OPTIONAL }
export const OperationChange = named(
  'ApiOperationChange',
  form(
    'Changes of the operation with this id. What is left out stays. Of a new one, method, path and price are needed.',
    { id, ...CHANGEABLE },
    Object.keys(CHANGEABLE) as (keyof typeof CHANGEABLE)[],
  ),
)
export type OperationChange = Static<typeof OperationChange>

export const OperationRecord = named(
  'ApiOperation',
  record('An operation that is on sale, or was.', {
    name: text('Its name in allowlists, usage and prices: `{api}.{id}`.'),
    tool_name: text('The name of its MCP tool.'),
    price_version: text('The version of its price, recorded with every charge.'),
    ...REQUIRED,
    ...OPTIONAL,
  }),
)
export type OperationRecord = Static<typeof OperationRecord>

/** The operation of core, of a form that its schema has validated. */
export function operationForm(sent: NewOperation): OperationForm {
  return { ...operationChange(sent), method: sent.method, path: sent.path, price: apiPriceOf(sent.price) }
}

export function operationChange(sent: OperationChange): CoreChange {
  const { title, description, parameters, body, success, effect, answer, examples, enabled } = sent
  const { upstream_cost_usd, pay_per_request, idempotency_header, refused_statuses, headers_up, headers_down } = sent
  return {
    id: sent.id,
    ...(sent.method && { method: sent.method }),
    ...(sent.path !== undefined && { path: sent.path }),
    ...(sent.price && { price: apiPriceOf(sent.price) }),
    ...(title !== undefined && { title: title.trim() }),
    ...(description !== undefined && { description: description.trim() }),
    ...(parameters && { parameters: parameters.map(parameterOf) }),
    ...(body !== undefined && {
      body: body && bodyForm(body),
    }),
    ...(success && { success: successOf(success) }),
    ...(upstream_cost_usd !== undefined && {
      upstreamCost: upstream_cost_usd === null ? null : usd(upstream_cost_usd),
    }),
    ...(pay_per_request !== undefined && { payPerRequest: pay_per_request }),
    ...(effect && { effect }),
    ...(idempotency_header !== undefined && { idempotencyHeader: idempotency_header }),
    ...(refused_statuses && { refusedStatuses: [...new Set(refused_statuses)] }),
    ...(answer && { answer }),
    ...(headers_up && { headersUp: headers_up }),
    ...(headers_down && { headersDown: headers_down }),
    ...(examples && { examples: examples.map(({ title, input }) => ({ title, input: { ...input } })) }),
    ...(enabled !== undefined && { enabled }),
  }
}

function bodyForm({ content_type, required = true, schema, encoding }: Static<typeof Body>): ApiBody {
  return { contentType: content_type, required, schema, ...(encoding && { encoding }) }
}

function bodyRecord({ contentType, required, schema, encoding }: ApiBody): Static<typeof Body> {
  return { content_type: contentType, required, schema, ...(encoding && { encoding }) }
}

function parameterOf(sent: Static<typeof Parameter>): ApiOperation['parameters'][number] {
  const { name, in: location, schema, description = '', style = location === 'query' ? 'form' : 'simple' } = sent
  const { required = location === 'path', explode = style === 'form' } = sent
  return {
    name,
    in: location,
    required,
    description,
    schema,
    style,
    explode,
    ...('default' in sent && { default: sent.default }),
  }
}

function successOf({ min_status, max_status, conditions = [] }: Static<typeof Success>): ApiOperation['success'] {
  return {
    minStatus: min_status,
    maxStatus: max_status,
    conditions: conditions.map(
      (condition): SuccessCondition =>
        'not_empty' in condition
          ? { pointer: condition.pointer, notEmpty: true }
          : { pointer: condition.pointer, equals: condition.equals },
    ),
  }
}

/** An operation as operators see it. */
export function operationRecord(operation: ApiOperation): OperationRecord {
  const { name, toolName, priceVersion, id, method, path, price, title, description, parameters } = operation
  const { body, success, upstreamCost, effect, idempotencyHeader, refusedStatuses, answer, enabled } = operation
  return {
    name,
    tool_name: toolName,
    price_version: priceVersion,
    id,
    method,
    path,
    price: priceRecordOf(price),
    title,
    description,
    parameters: [...parameters],
    body: body && bodyRecord(body),
    success: {
      min_status: success.minStatus,
      max_status: success.maxStatus,
      conditions: success.conditions.map((one) =>
        'notEmpty' in one
          ? { pointer: one.pointer, not_empty: true as const }
          : { pointer: one.pointer, equals: one.equals },
      ),
    },
    upstream_cost_usd: upstreamCost === null ? null : formatUsd(upstreamCost),
    // Older rows have no such member.
    pay_per_request: operation.payPerRequest ?? null,
    effect,
    idempotency_header: idempotencyHeader,
    refused_statuses: refusedStatuses,
    answer,
    headers_up: operation.headersUp,
    headers_down: operation.headersDown,
    examples: operation.examples.map(({ title, input }) => ({ title, input })),
    enabled,
  }
}

function usd(text: string): Money {
  return readable(parseUsd(text))
}
