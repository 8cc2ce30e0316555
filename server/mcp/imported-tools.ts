import type { ApiPrice } from '../core/apis/api'
import type { ApiMatch, ApiRoutes, SoldOperation } from '../core/apis/api-routes'
import { inputSchema } from '../core/apis/input-schema'
import { isJson } from '../core/json'
import { formatUsd } from '../core/money'
import { soldRoute } from '../pipeline/apis/sold-route'
import type { Route } from '../pipeline/call'
import { CALL_OPTIONS, callOptionSchemas, type Tool, type ToolCall } from './tool'

/** More operations than these are offered by search: a model cannot choose among hundreds of tools. */
const MAX_TOOLS = 40
const MAX_FOUND = 20

/** Tools whose answers are known here, or that call another operation, are free by themselves. */
const FREE: Route = { kind: 'free', name: 'mcp', scope: 'any' }

/**
 * The imported operations that a caller may call, as tools: one each up to 40, and beyond that tools that search, describe, quote and call.
 * A key that is restricted to certain operations has these, so its list is also how an owner pins them.
 */
export function importedTools(routes: ApiRoutes, mayCall: (route: Route) => boolean): Tool[] {
  const sold = [...routes.operations].filter((one) => mayCall(soldRoute(matchOf(one))))
  return sold.length <= MAX_TOOLS ? sold.map(operationTool) : catalogTools(sold)
}

function matchOf(sold: SoldOperation): ApiMatch {
  return { ...sold, values: {} }
}

/** Caches the tool of each operation, which is immutable. */
const TOOLS = new WeakMap<SoldOperation['operation'], Tool>()

function operationTool(sold: SoldOperation): Tool {
  const { operation } = sold
  const cached = TOOLS.get(operation)
  if (cached) return cached
  const schema = inputSchema(operation)
  const tool: Tool = {
    name: operation.toolName,
    title: operation.title,
    description: `${operation.description} ${priceText(operation.price)}`.trim(),
    inputSchema: {
      ...Object(schema),
      type: 'object',
      properties: { ...Object(Reflect.get(Object(schema), 'properties')), ...callOptionSchemas() },
    },
    isReadOnly: operation.effect === 'read',
    isFromOutside: true,
    isLong: true,
    route: soldRoute(matchOf(sold)),
    call: (input) => operationCall(sold, input),
  }
  TOOLS.set(operation, tool)
  return tool
}

function operationCall(
  sold: SoldOperation,
  input: Readonly<Record<string, unknown>>,
  isQuote = false,
): ToolCall | string {
  const headers: Record<string, string> = isQuote ? { 'x-cost-mode': 'quote' } : {}
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(input)) {
    const option = Object.hasOwn(CALL_OPTIONS, name) ? CALL_OPTIONS[name as keyof typeof CALL_OPTIONS] : null
    if (!option) Object.defineProperty(values, name, { value, enumerable: true })
    else if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) headers[option.header] = value
    else return `${name} must be plain ASCII text`
  }
  const { api, operation } = sold
  const path = `/apis/v1/${api.name}${operation.path}`
  return { method: operation.method, path, headers, body: undefined, imported: { match: matchOf(sold), values } }
}

/** The tools that replace one tool per operation in a large catalog. */
function catalogTools(sold: readonly SoldOperation[]): Tool[] {
  const byName = new Map(sold.map((one) => [one.operation.name as string, one]))
  const named = (input: Readonly<Record<string, unknown>>) => byName.get(String(input['operation']))
  const withInput = (isRead: boolean | null, isQuote: boolean) => (given: Readonly<Record<string, unknown>>) => {
    const { operation: _name, input = {}, ...options } = given
    const found = named(given)
    if (!found) return 'operation must be the name of an operation that search_operations returns'
    if (isRead !== null && (found.operation.effect === 'read') !== isRead)
      return `${found.operation.name} ${isRead ? 'changes something: use call_write_operation' : 'only reads: use call_operation'}`
    if (!isJson(input)) return 'input must be an object of the parameters of the operation'
    return operationCall(found, { ...input, ...options }, isQuote)
  }
  const call = (isRead: boolean): Tool => ({
    name: isRead ? 'call_operation' : 'call_write_operation',
    title: isRead ? 'Call an operation' : 'Call an operation that changes something',
    description: `Calls one operation of the catalog${isRead ? '' : ' that changes something at its upstream'}. Charged at its price when it succeeds; set max_price_usd to limit the cost.`,
    inputSchema: schemaOf({ ...OPERATION, ...INPUT, ...callOptionSchemas() }, ['operation']),
    ...{ isReadOnly: isRead, isFromOutside: true, isLong: true, route: FREE },
    call: withInput(isRead, false),
  })
  return [
    {
      name: 'search_operations',
      title: 'Search operations',
      description: `Finds operations among the ${sold.length} of the catalog by words. Free.`,
      inputSchema: schemaOf({ query: { type: 'string', description: 'Words, such as "weather forecast".' } }, [
        'query',
      ]),
      ...READS,
      call: ({ query }) => known({ operations: found(sold, String(query ?? '')).map(shortOf) }),
    },
    {
      name: 'describe_operation',
      title: 'Describe an operation',
      description: 'Returns the parameters, the price and examples of one operation of the catalog. Free.',
      inputSchema: schemaOf(OPERATION, ['operation']),
      ...READS,
      call(input) {
        const one = named(input)
        if (!one) return 'operation must be the name of an operation that search_operations returns'
        const { operation } = one
        return known({ ...shortOf(one), input_schema: inputSchema(operation), examples: operation.examples })
      },
    },
    {
      name: 'quote_operation',
      title: 'Quote an operation',
      description: 'Returns what a call of an operation would cost at most. Nothing runs and nothing is charged.',
      inputSchema: schemaOf({ ...OPERATION, ...INPUT }, ['operation']),
      ...READS,
      call: withInput(null, true),
    },
    call(true),
    call(false),
  ]
}

const READS = { isReadOnly: true, isFromOutside: true, isLong: false, route: FREE } as const
const OPERATION = {
  operation: { type: 'string', description: 'The name of an operation, such as "weather.forecast".' },
}
const INPUT = {
  input: { type: 'object', description: 'The parameters of the operation by name; a request body under "body".' },
}

function schemaOf(properties: Record<string, unknown>, required: readonly string[]): Tool['inputSchema'] {
  return { type: 'object', properties, required, additionalProperties: false }
}

function known(answer: Readonly<Record<string, unknown>>): ToolCall {
  return { method: 'GET', path: '/mcp', headers: {}, body: undefined, known: answer }
}

/** Operations that contain all words, those with more of them in the name or title first. */
function found(sold: readonly SoldOperation[], query: string): SoldOperation[] {
  const words = query.toLowerCase().split(/\W+/).filter(Boolean).slice(0, 10)
  return sold
    .map((one) => {
      const { name, title, description } = one.operation
      const head = `${name} ${title} ${one.api.title}`.toLowerCase()
      const all = `${head} ${description} ${one.api.description}`.toLowerCase()
      const isMatch = words.every((word) => all.includes(word))
      return { one, score: isMatch ? 1 + words.filter((word) => head.includes(word)).length : 0 }
    })
    .filter(({ score }) => score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, MAX_FOUND)
    .map(({ one }) => one)
}

function shortOf({ operation }: SoldOperation) {
  const { name, title, description, price, effect } = operation
  return { operation: name, title, description, price: priceText(price), effect }
}

function priceText(price: ApiPrice): string {
  switch (price.mode) {
    case 'fixed':
      return price.amount === 0
        ? 'Free.'
        : `Costs ${formatUsd(price.amount)} USD for each successful call; a failure costs nothing.`
    case 'units': {
      const { amount, block, maximum } = price
      const most = typeof maximum === 'number' ? ` at most ${maximum}` : ' at most as many as requested'
      return `Costs ${formatUsd(amount)} USD for each ${block === 1 ? 'unit' : `${block} units`} of the result,${most}.`
    }
    case 'reported':
      return `Costs what the upstream reports times ${price.multiplier}, at most ${formatUsd(price.maximum)} USD.`
  }
}
