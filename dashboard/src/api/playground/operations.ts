import { queryOptions } from '@tanstack/react-query'
import { callJson } from '../client/client.ts'

/** A parameter of an operation, from the gateway's OpenAPI document. */
export interface OperationField {
  readonly name: string
  readonly location: 'query' | 'header' | 'path' | 'body'
  readonly type: 'text' | 'integer' | 'number' | 'boolean' | 'choice' | 'list'
  readonly required: boolean
  readonly description: string
  readonly choices: readonly string[]
  readonly min: number | null
  readonly max: number | null
  readonly maxLength: number | null
  readonly maxWords: number | null
  readonly defaultValue: string | null
}

export interface GatewayOperation {
  readonly id: string
  readonly title: string
  readonly description: string
  readonly group: string
  readonly method: 'GET' | 'POST'
  readonly path: string
  /** The catalogue price of one unit in USD, if it is fixed. */
  readonly price: string | null
  /** Its name in prices and reports; null if it is not charged per unit. */
  readonly name: string | null
  readonly fields: readonly OperationField[]
  /** An example body to edit, if the body is more than a flat list of fields. */
  readonly exampleBody: string | null
}

/** All operations that a key can call, from `/openapi.json`, so that new operations appear automatically. */
export const operationsQuery = queryOptions({
  queryKey: ['operations'],
  queryFn: async () => operationsOf(await callJson('/openapi.json')),
  staleTime: Number.POSITIVE_INFINITY,
})

function operationsOf(document: unknown): readonly GatewayOperation[] {
  return Object.entries(loose(member(document, 'paths'))).flatMap(([path, item]) =>
    Object.entries(loose(item)).flatMap(([method, operation]) => {
      const takesKey = list(member(operation, 'security')).some((scheme) => 'apiKey' in loose(scheme))
      if (!takesKey || (method !== 'get' && method !== 'post') || path.startsWith('/api/')) return []
      return [operationOf(document, path, method === 'get' ? 'GET' : 'POST', operation)]
    }),
  )
}

function operationOf(document: unknown, path: string, method: 'GET' | 'POST', operation: unknown): GatewayOperation {
  const media = member(member(member(operation, 'requestBody'), 'content'), 'application/json')
  const schema = resolved(document, member(media, 'schema'))
  const required = list(member(schema, 'required')).map(String)
  const bodyFields = Object.entries(loose(member(schema, 'properties'))).map(([name, property]) =>
    fieldOf({ name, in: 'body', required: required.includes(name), schema: resolved(document, property) }),
  )
  const isFlat = bodyFields.every((field) => field !== null)
  const example = member(Object.values(loose(member(media, 'examples')))[0], 'value')
  const parameters = list(member(operation, 'parameters')).map((parameter) => fieldOf(resolved(document, parameter)))
  return {
    id: String(member(operation, 'operationId') ?? path),
    title: `${String(member(operation, 'summary') ?? path)}${method === 'POST' && parameters.length > 4 ? ' (POST)' : ''}`,
    description: String(member(operation, 'description') ?? ''),
    group: String(list(member(operation, 'tags'))[0] ?? ''),
    method,
    path,
    price: text(member(member(operation, 'x-price'), 'amount')),
    name: text(member(operation, 'x-operation')),
    fields: [...parameters, ...(isFlat ? bodyFields : [])].filter((field) => field !== null),
    exampleBody: media === undefined || isFlat ? null : JSON.stringify(example ?? {}, null, 2),
  }
}

/** The field of a parameter; null if it has more than one value. */
function fieldOf(parameter: unknown): OperationField | null {
  const schema = member(parameter, 'schema')
  const location = member(parameter, 'in')
  const choices = list(member(schema, 'enum')).filter((value) => value !== null)
  const type = typeOf(member(schema, 'type') ?? firstType(schema), choices)
  if (type === null || (location !== 'query' && location !== 'header' && location !== 'path' && location !== 'body'))
    return null
  const words = /\{0,(\d+)\}/.exec(String(member(schema, 'pattern') ?? ''))?.[1]
  const defaultValue = member(schema, 'default')
  return {
    name: String(member(parameter, 'name')),
    location,
    type,
    required: member(parameter, 'required') === true,
    description: String(member(parameter, 'description') ?? member(schema, 'description') ?? ''),
    choices: choices.map(String),
    min: number(member(schema, 'minimum')),
    max: number(member(schema, 'maximum')),
    maxLength: number(member(schema, 'maxLength')),
    maxWords: words === undefined ? null : Number(words) + 1,
    defaultValue: defaultValue === undefined ? null : String(defaultValue),
  }
}

function typeOf(type: unknown, choices: readonly unknown[]): OperationField['type'] | null {
  if (choices.length > 0) return 'choice'
  const known = Array.isArray(type) ? type.find((one) => one !== 'null') : type
  switch (known) {
    case 'string':
      return 'text'
    case 'integer':
    case 'number':
    case 'boolean':
      return known
    case 'array':
      return 'list'
    default:
      return null
  }
}

/** For "a string or a list of strings": the list, because it covers both. */
function firstType(schema: unknown): unknown {
  const ways = [...list(member(schema, 'anyOf')), ...list(member(schema, 'oneOf'))].map((way) => member(way, 'type'))
  return ways.includes('array') ? 'array' : ways[0]
}

function resolved(document: unknown, value: unknown): unknown {
  const reference = member(value, '$ref')
  if (typeof reference !== 'string') return value
  return reference.replace('#/', '').split('/').reduce<unknown>(member, document)
}

function member(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined
}

function loose(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function text(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}

function number(value: unknown): number | null {
  return typeof value === 'number' ? value : null
}
