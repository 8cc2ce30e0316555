import { isJson } from '../json'
import type { ApiOperation, DataSchema } from './api'

/** A JSON Schema of what a caller sends: parameters by name, and the body under `body`. */
export function inputSchema({ parameters, body }: Pick<ApiOperation, 'parameters' | 'body'>) {
  const named = inputNames(parameters)
  const properties = parameters.map(({ description, schema }, i) => [named[i], embedded(schema, `${i}`, description)])
  const required = parameters.flatMap((parameter, i) => (parameter.required ? [named[i] ?? ''] : []))
  return {
    type: 'object' as const,
    properties: Object.fromEntries([...properties, ...(body ? [['body', embedded(body.schema, 'body', '')]] : [])]),
    required: [...required, ...(body?.required ? ['body'] : [])],
    additionalProperties: false as const,
  }
}

/** Members of a tool's input that are not of its operation. */
export const INPUT_OPTIONS = ['max_price_usd', 'idempotency_key'] as const

/** A name for each parameter, in order: its own, or with its location before it where two have the same, or where it means something else. */
export function inputNames(parameters: ApiOperation['parameters']): readonly string[] {
  const count = (name: string) => parameters.filter((one) => one.name === name).length
  const isOwn = (name: string) =>
    name !== 'body' && !INPUT_OPTIONS.some((option) => option === name) && count(name) === 1
  const taken = new Set(parameters.map(({ name }) => name).filter(isOwn))
  return parameters.map(({ name, in: location }) => {
    if (isOwn(name)) return name
    let free = `${location}_${name}`
    while (taken.has(free)) free = `${free}_`
    taken.add(free)
    return free
  })
}

/** With its own `$id` where it has definitions, so that its references lead into it wherever it is placed. */
function embedded(schema: DataSchema, id: string, description: string): DataSchema {
  if (!isJson(schema)) return schema
  const text = description === '' || 'description' in schema ? {} : { description }
  return '$defs' in schema ? { $id: `urn:input:${id}`, ...schema, ...text } : { ...schema, ...text }
}
