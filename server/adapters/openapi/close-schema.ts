import type { DataSchema } from '../../core/apis/api'
import { elementsOf, isJson, type Json } from '../../core/json'

/** Not `if` and `not`, nor `contains` of elements: they ask something of a value, and more members change no answer. */
const IN_PLACE = ['then', 'else']
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf']
/** Keywords with schemas of other values: of members and elements. */
const VALUES = ['items', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties']

/**
 * Closes objects with declared members: other members are refused. A schema that only joins others, or that is joined to others, is
 * closed as a whole, by `unevaluatedProperties`. Objects that declare no member at all stay open, and are named.
 */
export class SchemaCloser {
  private readonly defs: Json
  private readonly known = new Map<string, boolean>()
  /** The names of values that may have any members. */
  readonly open = new Set<string>()

  constructor(defs: Json) {
    this.defs = defs
  }

  /** A schema of a whole value. */
  value(schema: unknown, label: string): DataSchema {
    const inside = this.inPlace(schema, label)
    if (!isJson(inside)) {
      if (inside === true) this.open.add(label)
      return inside
    }
    if (!mayBeObject(inside)) return inside
    if (inside['unevaluatedProperties'] !== undefined) return inside
    if (inside['additionalProperties'] !== undefined) {
      if (inside['additionalProperties'] === true || isEmpty(inside['additionalProperties'])) this.open.add(label)
      return inside
    }
    if (this.declaresMembers(inside)) return { ...inside, unevaluatedProperties: false }
    if (inside['type'] !== undefined || isEmpty(inside)) this.open.add(label)
    return inside
  }

  /** A schema that is one of several of the same value. Values inside it are closed. */
  inPlace(schema: unknown, label: string): DataSchema {
    if (!isJson(schema)) return schema === true
    return Object.fromEntries(
      Object.entries(schema).map(([keyword, part]) => [keyword, this.keyword(keyword, part, label)]),
    )
  }

  private keyword(keyword: string, part: unknown, label: string): unknown {
    if (IN_PLACE_LISTS.includes(keyword)) return elementsOf(part).map((one) => this.inPlace(one, label))
    if (IN_PLACE.includes(keyword)) return this.inPlace(part, label)
    if (keyword === 'contentSchema') return this.value(part, label)
    // `additionalProperties: true` says of no value what it is.
    if (VALUES.includes(keyword)) return typeof part === 'boolean' ? part : this.value(part, label)
    if (keyword === 'prefixItems') return elementsOf(part).map((one) => this.value(one, label))
    if (keyword === 'properties' && isJson(part)) return mapped(part, (one, name) => this.value(one, name))
    if (keyword === 'dependentSchemas' && isJson(part)) return mapped(part, (one) => this.inPlace(one, label))
    return part
  }

  private declaresMembers(schema: unknown): boolean {
    if (!isJson(schema)) return false
    if (isJson(schema['properties']) && Object.keys(schema['properties']).length > 0) return true
    if (typeof schema['$ref'] === 'string' && this.definitionDeclares(schema['$ref'].slice('#/$defs/'.length))) {
      return true
    }
    const lists = IN_PLACE_LISTS.flatMap((keyword) => elementsOf(schema[keyword]))
    const dependent = isJson(schema['dependentSchemas']) ? Object.values(schema['dependentSchemas']) : []
    return [...lists, schema['if'], ...IN_PLACE.map((keyword) => schema[keyword]), ...dependent].some((part) =>
      this.declaresMembers(part),
    )
  }

  private definitionDeclares(name: string): boolean {
    const known = this.known.get(name)
    if (known !== undefined) return known
    // A definition that contains itself declares by this nothing more.
    this.known.set(name, false)
    const declares = Object.hasOwn(this.defs, name) && this.declaresMembers(this.defs[name])
    this.known.set(name, declares)
    return declares
  }
}

function mayBeObject({ type }: Json): boolean {
  return type === undefined || type === 'object' || elementsOf(type).includes('object')
}

function isEmpty(schema: unknown): boolean {
  return isJson(schema) && Object.keys(schema).every((keyword) => keyword === 'description' || keyword === 'title')
}

function mapped(value: Json, change: (part: unknown, name: string) => unknown): Json {
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, change(part, name)]))
}
