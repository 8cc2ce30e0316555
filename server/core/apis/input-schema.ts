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

/** A name for each parameter, in order: its own, or with its place before it where two have the same, or where it is `body`. */
export function inputNames(parameters: ApiOperation['parameters']): readonly string[] {
  const count = (name: string) => parameters.filter((one) => one.name === name).length
  return parameters.map(({ name, in: place }) => (name === 'body' || count(name) > 1 ? `${place}_${name}` : name))
}

/** With its own `$id` where it has definitions, so that its references lead into it wherever it stands. */
function embedded(schema: DataSchema, id: string, description: string): DataSchema {
  if (!isJson(schema)) return schema
  const text = description === '' || 'description' in schema ? {} : { description }
  return '$defs' in schema ? { $id: `urn:input:${id}`, ...schema, ...text } : { ...schema, ...text }
}
