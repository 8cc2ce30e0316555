import { Kind } from '@sinclair/typebox'
import { isJson } from '../../core/json'
import type { JsonSchema } from './json-schema'

/**
 * Moves the named schemas out of a document and replaces each use with a reference to `components.schemas`. Data in examples that
 * only looks like a schema stays: real schemas carry TypeBox's marker.
 */
export function extractNamed<T>(node: T): { readonly node: T; readonly schemas: Readonly<Record<string, JsonSchema>> } {
  const schemas: Record<string, JsonSchema> = {}
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk)
    if (!isJson(value)) return value
    const { $id: name, ...rest } = value
    const copy = Object.fromEntries(Object.entries(rest).map(([key, member]) => [key, walk(member)]))
    if (typeof name !== 'string' || !(Kind in value)) return name === undefined ? copy : { $id: name, ...copy }
    if (schemas[name] && JSON.stringify(schemas[name]) !== JSON.stringify(copy))
      throw new Error(`two different schemas are named ${name}`)
    schemas[name] = copy
    return { $ref: `#/components/schemas/${name}` }
  }
  // The copy has the same shape, except for the references.
  return { node: walk(node) as T, schemas }
}
