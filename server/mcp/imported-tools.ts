import type { ApiOperation, ApiPrice } from '../core/apis/api'
import type { ApiMatch, ApiRoutes, SoldOperation } from '../core/apis/api-routes'
import { INPUT_OPTIONS, inputNames, inputSchema } from '../core/apis/input-schema'
import { isJson, jsonText } from '../core/json'
import { formatUsd } from '../core/money'
import { isPayable, soldRoute } from '../pipeline/apis/api-sale'
import type { Route } from '../pipeline/call'
import { modelSchema } from './model-schema'
import { searched } from './search-operations'
import { argumentName, CALL_ARGUMENTS, callOptionSchemas, pricedDescription, type Tool, type ToolCall } from './tool'

/** More operations than these are offered by search: a model cannot choose among hundreds of tools. */
const MAX_TOOLS = 40
const MAX_FOUND = 20

/** Tools whose answers are known here, or that call another operation, are free by themselves. */
const FREE: Route = { kind: 'free', name: 'mcp', scope: 'any' }
const PUBLIC: Route = { kind: 'public' }
const PAID: Route = { kind: 'public', paymentInBody: true }

/** The caller's permissions and filters. */
export interface ToolRights {
  mayCall(route: Route): boolean
  /** The only names that it may call. Null: it has no list, so `mayCall` says the same of all reads, and of all writes. */
  readonly list: readonly string[] | null
  /** Operations that are a tool each, however many there are. */
  readonly pinned: readonly string[]
  /** The price of an operation for this caller. */
  readonly priceOf: PriceOf
}

type PriceOf = (sold: SoldOperation) => ApiPrice

/**
 * The imported operations that a caller may call, as tools: one each up to 40, and beyond that tools that search, describe, quote and call,
 * and one for each that the owner pinned.
 */
export function importedTools(routes: ApiRoutes, rights: ToolRights): Tool[] {
  const find = (name: string): SoldOperation | null => {
    const one = routes.byName(name)
    return one && rights.mayCall(soldRoute(matchOf(one))) ? one : null
  }
  const sold = callable(routes, rights, find)
  const { priceOf } = rights
  const tool = (one: SoldOperation) => operationTool(one, priceOf(one))
  if (sold.length <= MAX_TOOLS) return sold.map(tool)
  return [...catalogTools(sold, find, priceOf), ...found(rights.pinned, find).map(tool)]
}

/** Those that a caller without a key may pay for: one tool each up to 40, and beyond that tools that search, describe, quote and call. */
export function payableTools(routes: ApiRoutes, priceOf: PriceOf): Tool[] {
  const { payable } = indexOf(routes)
  if (payable.length <= MAX_TOOLS) return payable.map((one) => operationTool(one, priceOf(one)))
  const find = (name: string): SoldOperation | null => {
    const one = routes.byName(name)
    return one && isPayable(one) ? one : null
  }
  // All of them are reads. A caller who pays needs no key.
  return catalogTools(payable, find, priceOf)
    .filter(({ isReadOnly }) => isReadOnly)
    .map((tool) => ({ ...tool, route: tool.isLong ? PAID : PUBLIC }))
}

function callable(
  routes: ApiRoutes,
  { mayCall, list }: ToolRights,
  find: (name: string) => SoldOperation | null,
): readonly SoldOperation[] {
  if (list) return found(list, find)
  const index = indexOf(routes)
  const may = ([one]: readonly SoldOperation[]) => one !== undefined && mayCall(soldRoute(matchOf(one)))
  const [reads, writes] = [may(index.reads), may(index.writes)]
  if (reads && writes) return index.all
  return reads ? index.reads : writes ? index.writes : []
}

function found(names: readonly string[], find: (name: string) => SoldOperation | null): SoldOperation[] {
  return names.flatMap((name) => find(name) ?? [])
}

/** The operations on sale by what decides who may call them. */
interface CatalogIndex {
  readonly all: readonly SoldOperation[]
  readonly reads: readonly SoldOperation[]
  readonly writes: readonly SoldOperation[]
  readonly payable: readonly SoldOperation[]
}

/** Built once per catalog, which may have 10,000 operations: each message asks for its tools. */
const INDEXES = new WeakMap<ApiRoutes, CatalogIndex>()

function indexOf(routes: ApiRoutes): CatalogIndex {
  const known = INDEXES.get(routes)
  if (known) return known
  const all = [...routes.operations]
  const index = {
    all,
    reads: all.filter(({ operation }) => operation.effect === 'read'),
    writes: all.filter(({ operation }) => operation.effect === 'write'),
    payable: all.filter((sold) => isPayable(sold)),
  }
  INDEXES.set(routes, index)
  return index
}

function matchOf(sold: SoldOperation): ApiMatch {
  return { ...sold, values: {} }
}

/** Caches the latest tool of each operation, which is immutable: few accounts have their own prices. */
const TOOLS = new WeakMap<ApiOperation, { readonly costs: string; readonly tool: Tool }>()

function operationTool(sold: SoldOperation, price: ApiPrice): Tool {
  const { operation } = sold
  const costs = priceText(price)
  const cached = TOOLS.get(operation)
  if (cached?.costs === costs) return cached.tool
  const { schema, restore, shownName } = modelSchema(inputSchema(operation), INPUT_OPTIONS)
  const inputOf = new Map(
    operation.parameters.map(({ name }, i) => [name, inputNames(operation.parameters)[i] ?? name]),
  )
  const tool: Tool = {
    name: operation.toolName,
    title: operation.title,
    description: pricedDescription(operation.description, costs),
    inputSchema: { ...schema, properties: { ...Object(schema['properties']), ...callOptionSchemas() } },
    isReadOnly: operation.effect === 'read',
    isDestructive: operation.effect === 'write',
    isIdempotent: operation.effect === 'read' || operation.method === 'PUT' || operation.method === 'DELETE',
    isFromOutside: true,
    isLong: true,
    route: soldRoute(matchOf(sold)),
    call: (input) => operationCall(sold, restore(input)),
    shownName: (param) => shownName(inputOf.get(param) ?? argumentName(param)),
  }
  TOOLS.set(operation, { costs, tool })
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
    const option = Object.hasOwn(CALL_ARGUMENTS, name) ? CALL_ARGUMENTS[name as keyof typeof CALL_ARGUMENTS] : null
    if (!option) Object.defineProperty(values, name, { value, enumerable: true })
    else if (typeof value === 'string' && /^[\x21-\x7e]{1,255}$/.test(value)) headers[option.header] = value
    else return `${name} must be plain ASCII text`
  }
  const { api, operation } = sold
  const path = `/apis/v1/${api.name}${operation.path}`
  return { method: operation.method, path, headers, body: undefined, imported: { match: matchOf(sold), values } }
}

/** The tools that replace one tool per operation in a large catalog. */
function catalogTools(
  sold: readonly SoldOperation[],
  find: (name: string) => SoldOperation | null,
  priceOf: PriceOf,
): Tool[] {
  const shortOf = (sold: SoldOperation) => {
    const { name, title, description, effect } = sold.operation
    return { operation: name, title, description, price: priceText(priceOf(sold)), effect }
  }
  const named = (input: Readonly<Record<string, unknown>>) => find(jsonText(input['operation']))
  const withInput = (isRead: boolean | null, isQuote: boolean) => (given: Readonly<Record<string, unknown>>) => {
    const { operation: _name, input = {}, ...options } = given
    const one = named(given)
    if (!one) return 'operation must be the name of an operation that search_operations returns'
    if (isRead !== null && (one.operation.effect === 'read') !== isRead)
      return `${one.operation.name} ${isRead ? 'changes something: use call_write_operation' : 'only reads: use call_operation'}`
    if (!isJson(input)) return 'input must be an object of the parameters of the operation'
    return operationCall(one, { ...input, ...options }, isQuote)
  }
  const call = (isRead: boolean): Tool => ({
    name: isRead ? 'call_operation' : 'call_write_operation',
    title: isRead ? 'Call an operation' : 'Call an operation that changes something',
    description: `Calls one operation of the catalog${isRead ? '' : ' that changes something at its upstream'}. Charged at its price when it succeeds; set max_price_usd to limit the cost.`,
    inputSchema: schemaOf({ ...OPERATION, ...INPUT, ...callOptionSchemas() }, ['operation']),
    isReadOnly: isRead,
    isDestructive: !isRead,
    isIdempotent: isRead,
    isFromOutside: true,
    isLong: true,
    route: FREE,
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
      call: ({ query }) => known({ operations: searched(sold, jsonText(query ?? ''), MAX_FOUND).map(shortOf) }),
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

const READS = {
  isReadOnly: true,
  isDestructive: false,
  isIdempotent: true,
  isFromOutside: true,
  isLong: false,
  route: FREE,
} as const
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
