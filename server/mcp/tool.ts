import type { Operation } from '../core/catalogue/operation'
import { OPERATIONS } from '../core/catalogue/operations'
import type { ParameterTable } from '../core/catalogue/parameters'
import { formatUsd, type Money } from '../core/money'
import { bodySchema } from '../http/openapi/parameter-documents'
import type { Route } from '../pipeline/call'

/** The call of a route of the gateway that a tool runs, in the words of HTTP: what it binds and how it fails is the same. */
export interface ToolCall {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: unknown
}

/** One tool of the MCP server: what a model is told, and the call that it makes. */
export interface Tool {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: { readonly type: 'object' } & Readonly<Record<string, unknown>>
  readonly isReadOnly: boolean
  /** Whether its results hold what strangers wrote. */
  readonly isFromOutside: boolean
  /** Answers by a stream with progress: streaming and long-running operations. */
  readonly isLong: boolean
  readonly route: Route
  /** The call with these arguments, or the rule that they break before any route can judge them. */
  call(input: Readonly<Record<string, unknown>>): ToolCall | string
}

/** What every priced tool takes beside its own parameters: the headers of HTTP, by names that fit an argument. */
const CALL_OPTIONS = {
  max_price_usd: {
    header: 'x-max-price-usd',
    schema: {
      type: 'string',
      description: 'Refuse, before anything runs, when the call would cost more USD than this, such as "0.01".',
    },
  },
  idempotency_key: {
    header: 'idempotency-key',
    schema: {
      type: 'string',
      description: 'A name of your own for this call: a repeat under the same name is not done twice.',
    },
  },
} as const

/** Headers that are about HTTP itself, not about what is asked. */
const NOT_ASKED = new Set(['api-version', 'cache-control', 'user-agent'])

/** One tool for each operation of the catalogue, from the table that makes its route (spec 4); a new operation is a new tool. */
export function catalogueTools(priceOf: (operation: Operation) => Money): Tool[] {
  return Object.values(OPERATIONS).map((operation: Operation) => {
    const price = priceOf(operation)
    const known = MADE.get(operation)
    if (known?.price === price) return known.tool
    const tool = operationTool(operation, price)
    MADE.set(operation, { price, tool })
    return tool
  })
}

/** The last tool made of an operation: prices differ between few accounts, and a schema is more work than the call of it. */
const MADE = new Map<Operation, { readonly price: Money; readonly tool: Tool }>()

function operationTool(operation: Operation, price: Money): Tool {
  const { name, title, description, path, methods, parameters, takesConcurrency, payable, scope } = operation
  const method = methods.includes('POST') ? 'POST' : 'GET'
  const isSocial = path.startsWith('/apis/v1/social/')
  const schema = bodySchema(askable(parameters))
  const properties = { ...Object(schema['properties']), ...callOptionSchemas() }
  return {
    name: name.replaceAll('-', '_'),
    title,
    description: `${description} ${costs(operation, price)}`,
    inputSchema: { ...schema, type: 'object', properties },
    isReadOnly: !isSocial || methods.every((one) => one === 'GET'),
    isFromOutside: true,
    isLong: takesConcurrency,
    route: { kind: 'priced', operation: name, scope, ...(payable && { payable }) },
    call: (input) => routed(parameters, method, path, input),
  }
}

/** Query parameters and the caller's place; a tool's arguments have one name space, and the names do not meet. */
function askable(table: ParameterTable): ParameterTable {
  return Object.fromEntries(
    Object.entries(table)
      .filter(([name, rule]) => rule.in === 'query' || !NOT_ASKED.has(name))
      .map(([name, rule]) => [name, { ...rule, in: 'query' as const }]),
  )
}

function callOptionSchemas(): Record<string, unknown> {
  return Object.fromEntries(Object.entries(CALL_OPTIONS).map(([name, { schema }]) => [name, schema]))
}

function costs({ unit, metering }: Operation, price: Money): string {
  if (price === 0) return 'Free.'
  const usd = `${formatUsd(price)} USD`
  return metering
    ? `Costs ${usd} for each ${unit}; some cost more. Ask with max_price_usd to set a bound.`
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
  for (const [name, value] of Object.entries(input)) {
    const wish = Object.hasOwn(CALL_OPTIONS, name) ? CALL_OPTIONS[name as keyof typeof CALL_OPTIONS] : null
    const rule = Object.hasOwn(table, name) ? table[name] : undefined
    if (!wish && (!rule || NOT_ASKED.has(name))) return `${name.slice(0, 60)} is not an argument of this tool`
    const header = wish ? wish.header : rule?.in === 'header' ? name : null
    if (header !== null || method === 'GET') {
      const values = Array.isArray(value) ? value : [value]
      if (!values.every((one) => ['string', 'number', 'boolean'].includes(typeof one)))
        return `${name} must be a plain value`
      if (header !== null) headers[header] = values.join(',')
      else for (const one of values) query.append(name, String(one))
    } else body[name] = value
  }
  if (Object.values(headers).some((value) => !/^[\x20-\x7e]*$/.test(value)))
    return 'a place, a price and an idempotency key must be plain ASCII text'
  const search = query.size > 0 ? `?${query}` : ''
  return { method, path: path + search, headers, body: method === 'POST' ? body : undefined }
}
