import type { ApiMethod } from '../core/apis/api'
import type { ApiMatch } from '../core/apis/api-routes'
import type { INPUT_OPTIONS } from '../core/apis/input-schema'
import type { Operation } from '../core/catalog/operation'
import { OPERATIONS } from '../core/catalog/operations'
import { type ParameterTable, parseParameters } from '../core/catalog/parameters'
import { formatUsd, type Money } from '../core/money'
import { bodySchema } from '../http/openapi/parameter-documents'
import { operationRoute, type Route } from '../pipeline/call'
import { cut, MAX_DESCRIPTION } from './model-schema'

/** The gateway request that a tool makes, in HTTP terms, so that validation and failures are the same as over HTTP. */
export interface ToolCall {
  readonly method: ApiMethod
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
  /** Set for an imported operation, whose input is validated from these values, by parameter name. */
  readonly imported?: { readonly match: ApiMatch; readonly values: Readonly<Record<string, unknown>> }
  /** Set where the answer is known without a call, such as a description. */
  readonly known?: Readonly<Record<string, unknown>>
}

/** One tool of the MCP server: its description for the model, and the call that it makes. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: 'object' } & Readonly<Record<string, unknown>>
  readonly isReadOnly: boolean
  /** Whether it may change or remove what exists, in place of adding to it. */
  readonly isDestructive: boolean
  /** Whether the same call again changes nothing more. */
  readonly isIdempotent: boolean
  /** Whether its results contain third-party content. */
  readonly isFromOutside: boolean
  /** Streams progress: for streaming and long-running operations. */
  readonly isLong: boolean
  readonly route: Route
  /** The call for these arguments, or all that is wrong with them if they cannot form a request. */
  call(input: Readonly<Record<string, unknown>>): ToolCall | string
  /** The model's name of the argument that an error of the call names. Absent: the same. */
  shownName?(param: string): string
}

/** A description that every vendor takes, with its price, which is never cut. */
export function pricedDescription(text: string, costs: string): string {
  return `${cut(text, MAX_DESCRIPTION - costs.length - 1)} ${costs}`.trim()
}

/** Arguments of every priced tool in addition to its own, each sent as an HTTP header. */
export const CALL_ARGUMENTS = {
  max_price_usd: {
    header: 'x-max-price-usd',
    schema: {
      type: 'string',
      description: 'Maximum price in USD, such as "0.01". A call that would cost more is refused before anything runs.',
    },
  },
  idempotency_key: {
    header: 'idempotency-key',
    schema: {
      type: 'string',
      description: 'A unique key for this call. Repeating the call with the same key does not run or charge it twice.',
    },
  },
} as const satisfies Record<(typeof INPUT_OPTIONS)[number], object>

/** Writes that only add. */
const ADDS: ReadonlySet<string> = new Set(['social-follow', 'social-like', 'social-post', 'social-dm'])
/** Writes that do it once more when they are repeated. */
const ONCE_MORE: ReadonlySet<string> = new Set(['social-post', 'social-dm'])

/** The argument that is sent as this header, or the same name. */
export function argumentName(param: string): string {
  const lower = param.toLowerCase()
  return Object.entries(CALL_ARGUMENTS).find(([, { header }]) => header === lower)?.[0] ?? param
}

/** Headers that concern HTTP itself and are not tool arguments. */
const HTTP_ONLY = new Set(['api-version', 'cache-control', 'user-agent'])

/** One tool per catalog operation, from the same table as its route (spec 4). A new operation becomes a new tool. */
export function catalogTools(priceOf: (operation: Operation) => Money): Tool[] {
  return Object.values(OPERATIONS).map((operation: Operation) => {
    const price = priceOf(operation)
    const cached = TOOLS.get(operation)
    if (cached?.price === price) return cached.tool
    const tool = operationTool(operation, price)
    TOOLS.set(operation, { price, tool })
    return tool
  })
}

/** Caches the latest tool of each operation: few accounts have their own prices, and building a schema is expensive. */
const TOOLS = new Map<Operation, { readonly price: Money; readonly tool: Tool }>()

function operationTool(operation: Operation, price: Money): Tool {
  const { name, title, description, path, methods, parameters, takesConcurrency, effect } = operation
  const method = methods.includes('POST') ? 'POST' : 'GET'
  const schema = bodySchema(argumentsOf(parameters))
  const properties = { ...shortened(Object(schema['properties'])), ...callOptionSchemas() }
  return {
    name: name.replaceAll('-', '_'),
    title,
    description: pricedDescription(description, costs(operation, price)),
    inputSchema: { ...schema, type: 'object', properties },
    isReadOnly: effect !== 'write',
    isDestructive: effect === 'write' && !ADDS.has(name),
    isIdempotent: !ONCE_MORE.has(name),
    isFromOutside: true,
    isLong: takesConcurrency,
    route: operationRoute(operation),
    call: (input) => routed(parameters, method, path, input),
    shownName: argumentName,
  }
}

/** A long choice is left to the validation, whose error lists it: a model knows the codes of countries and languages. */
function shortened(properties: Readonly<Record<string, object>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => {
      const { enum: choices, ...rest } = Object(schema)
      return [name, Array.isArray(choices) && choices.length > MAX_CHOICES ? rest : schema]
    }),
  )
}

const MAX_CHOICES = 20

/** Query parameters and the location headers as one set of arguments; their names do not collide. */
function argumentsOf(table: ParameterTable): ParameterTable {
  return Object.fromEntries(
    Object.entries(table)
      .filter(([name, rule]) => rule.in === 'query' || !HTTP_ONLY.has(name))
      .map(([name, rule]) => [name, { ...rule, in: 'query' as const }]),
  )
}

export function callOptionSchemas(): Record<string, unknown> {
  return Object.fromEntries(Object.entries(CALL_ARGUMENTS).map(([name, { schema }]) => [name, schema]))
}

function costs({ unit, metering }: Operation, price: Money): string {
  if (price === 0) return 'Free.'
  const usd = `${formatUsd(price)} USD`
  return metering
    ? `Costs ${usd} for each ${unit}. Set max_price_usd to limit the cost.`
    : `Costs ${usd} for each successful call; a failure costs nothing.`
}

function routed(
  table: ParameterTable,
  method: 'GET' | 'POST',
  path: string,
  input: Readonly<Record<string, unknown>>,
): ToolCall | string {
  const headers: Record<string, string> = {}
  const body: Record<string, unknown> = {}
  const query = new URLSearchParams()
  const problem = unknownArguments(table, input)
  if (problem !== null) return problem
  for (const [name, value] of Object.entries(input)) {
    const option = Object.hasOwn(CALL_ARGUMENTS, name) ? CALL_ARGUMENTS[name as keyof typeof CALL_ARGUMENTS] : null
    const rule = Object.hasOwn(table, name) ? table[name] : undefined
    const header = option ? option.header : rule?.in === 'header' ? name : null
    if (header !== null || method === 'GET') {
      const values = Array.isArray(value) ? value : [value]
      if (!values.every((one) => ['string', 'number', 'boolean'].includes(typeof one)))
        return `${name} must be a string, number, boolean or list of these`
      if (header !== null) headers[header] = values.join(',')
      else for (const one of values) query.append(name, String(one))
    } else body[name] = value
  }
  if (Object.values(headers).some((value) => !/^[\x20-\x7e]*$/.test(value)))
    return 'Location arguments, max_price_usd and idempotency_key must be plain ASCII text'
  const search = query.size > 0 ? `?${query}` : ''
  return { method, path: path + search, headers, body: method === 'POST' ? body : undefined }
}

/** The problem of all arguments, if some of them are unknown; null if none is. */
function unknownArguments(table: ParameterTable, input: Readonly<Record<string, unknown>>): string | null {
  const args = argumentsOf(table)
  const known = (name: string) => Object.hasOwn(args, name) || Object.hasOwn(CALL_ARGUMENTS, name)
  const unknown = Object.keys(input).filter((name) => !known(name))
  if (unknown.length === 0) return null
  const body = Object.fromEntries(Object.entries(input).filter(([name]) => Object.hasOwn(args, name)))
  const parsed = parseParameters(args, { query: () => [], header: () => null, body })
  const others = parsed.ok ? [] : parsed.error.map(({ param, rule }) => `${param} ${rule}`)
  return [
    ...unknown.slice(0, 20).map((name) => `${name.slice(0, 60)} is not an argument of this tool`),
    ...others,
  ].join('; ')
}
