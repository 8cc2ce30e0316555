import { createHash } from 'node:crypto'
import type { DataSchema } from '../../core/apis/api'
import { elementsOf, isJson, type Json } from '../../core/json'
import { isPlainLine, shownName } from '../../core/plain-text'
import type { Documents, Located } from './documents'
import { plainDescription, plainTitle, textIn } from './plain-texts'

/** Keywords, list elements and members of one schema. A hundred characters of text count as one. */
export const MAX_PARTS = 20_000
const MAX_NAME = 200

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']
const COUNTS = [
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minContains',
  'maxContains',
  'minProperties',
  'maxProperties',
]
const IN_PLACE_LISTS = ['allOf', 'anyOf', 'oneOf']
const IN_PLACE = ['not', 'if', 'then', 'else', 'propertyNames']
const VALUES = ['items', 'contains', 'additionalProperties', 'unevaluatedItems', 'unevaluatedProperties']
/** Formats that say how a number is stored or a text is shown. They promise nothing about a value. */
const FORMATS_WITHOUT_RULE = ['int32', 'int64', 'float', 'double', 'string', 'password']

const NONE: ReadonlySet<string> = new Set()

/** A schema of a document cannot be sold. The message follows the name of what has the schema. */
export class SchemaProblem extends Error {}

/** One schema as it is written in its document, converted: what it refers to is not read yet. */
export interface Converted {
  readonly schema: DataSchema
  /** The targets of its references, by their names in `$defs`. */
  readonly refs: ReadonlyMap<string, Located>
  /** Unchecked parts, such as `email (format email)`. */
  readonly unchecked: readonly string[]
  readonly parts: number
}

/**
 * Converts a schema of OpenAPI 3.0 or 3.1 to JSON Schema 2020-12. Only keywords that are known pass. `pattern` and `format` are dropped
 * and named; texts become plain.
 */
export class SchemaConverter {
  private readonly documents: Documents
  /** OpenAPI 3.0 ignores the members next to a reference. */
  private readonly bareRefs: boolean
  private refs = new Map<string, Located>()
  private unchecked = new Set<string>()
  private parts = 0
  private root: Located = { value: true, base: '', key: '' }

  private readonly subtypes: Subtypes

  constructor(documents: Documents) {
    this.documents = documents
    this.subtypes = new Subtypes(documents)
    this.bareRefs = textIn(documents.root['openapi']).startsWith('3.0')
  }

  /** Throws a `SchemaProblem`. */
  convert(part: Located, label: string): Converted {
    this.refs = new Map()
    this.unchecked = new Set()
    this.parts = 0
    this.root = part
    const schema = this.schema(part.value, label)
    return { schema, refs: this.refs, unchecked: [...this.unchecked], parts: this.parts }
  }

  /** `hidden`: members of the same value that only answers have, by the schemas that this one is joined with. */
  private schema(
    value: unknown,
    label: string,
    hidden: ReadonlySet<string> = NONE,
    isJoined: 'joined' | 'alone' = 'alone',
  ): DataSchema {
    this.count(1)
    if (typeof value === 'boolean') return value
    if (!isJson(value)) throw new SchemaProblem('has a schema that is not an object')
    if (value['$dynamicRef'] !== undefined) throw new SchemaProblem('uses $dynamicRef, which is not supported')
    const ref = this.referenceOf(value, isJoined === 'joined')
    if (ref && this.bareRefs) return value['nullable'] === true ? { anyOf: [ref, { type: 'null' }] } : ref
    const out: [string, unknown][] = [...Object.entries(ref ?? {}), ...this.texts(value), ...this.types(value, label)]
    const own = new Set([...hidden, ...this.readOnlyNames(value)])
    out.push(...this.numbers(value, label), ...this.data(value), ...this.forms(value, label, own))
    out.push(...this.members(value, label, own), ...this.elements(value, label))
    this.count(out.length)
    for (const [, text] of out) if (typeof text === 'string') this.count(Math.floor(text.length / 100))
    return nullable(value, Object.fromEntries(out))
  }

  private count(parts: number): void {
    this.parts += parts
    if (this.parts > MAX_PARTS) throw new SchemaProblem(`has a schema of more than ${MAX_PARTS} parts`)
  }

  private referenceOf(value: Json, isJoined: boolean): Json | null {
    if (value['$recursiveRef'] !== undefined) {
      // Of draft 2019-09: the outermost schema that is marked. Within one definition this is the definition.
      const marked = isJson(this.root.value) && this.root.value['$recursiveAnchor'] === true
      if (!marked || this.root.key === '') throw new SchemaProblem('uses $recursiveRef without $recursiveAnchor')
      return this.reference(this.root)
    }
    if (typeof value['$ref'] !== 'string') return null
    const target = this.documents.resolve(value['$ref'], this.root)
    if (!target.ok) throw new SchemaProblem(`has a schema that cannot be read: ${target.error}`)
    return this.familyReference(target.value, isJoined && this.root.key !== '', value)
  }

  /**
   * A reference to a schema with a discriminator allows its subtypes too. A subtype that is joined with it means only what it has itself:
   * without the forms that lead back to the subtype.
   */
  private familyReference(target: Located, isJoined: boolean, { anyOf, oneOf }: Json): Json {
    if (!isJson(target.value) || !isJson(target.value['discriminator'])) return this.reference(target)
    const { oneOf: one, anyOf: any, discriminator, ...own } = target.value
    const family = this.subtypes.of(target)
    const isSubtype = isJoined && family.some(({ key }) => key === this.root.key)
    const hasForms = one !== undefined || any !== undefined
    if (isSubtype) return this.reference(hasForms ? { ...target, value: own, key: `${target.key}/own` } : target)
    if (hasForms || family.length === 0 || anyOf !== undefined || oneOf !== undefined) return this.reference(target)
    return { anyOf: [target, ...family].map((part) => this.reference(part)) }
  }

  private reference(target: Located): { readonly $ref: string } {
    const name = definitionName(target.key)
    this.refs.set(name, target)
    return { $ref: `#/$defs/${name}` }
  }

  private texts(value: Json): [string, unknown][] {
    const title = plainTitle(value['title'])
    const description = plainDescription(value['description'])
    const out: [string, unknown][] = []
    if (title !== '') out.push(['title', title])
    if (description !== '') out.push(['description', description])
    if (value['deprecated'] === true) out.push(['deprecated', true])
    return out
  }

  private types(value: Json, label: string): [string, unknown][] {
    const { type, format, pattern, contentMediaType, contentEncoding } = value
    const types = Array.isArray(type) ? type : type === undefined ? [] : [type]
    const unknown = types.find((one) => typeof one !== 'string' || !TYPES.includes(one))
    if (unknown !== undefined) {
      throw new SchemaProblem(`has a schema of an unknown type: ${shownName(textIn(unknown), 60)}`)
    }
    const out: [string, unknown][] = types.length > 0 ? [['type', type]] : []
    if (typeof pattern === 'string') this.unchecked.add(`${label} (pattern)`)
    if (format === 'binary') out.push(['contentMediaType', 'application/octet-stream'])
    else if (format === 'byte' || format === 'base64') out.push(['contentEncoding', 'base64'])
    else if (typeof format === 'string' && !FORMATS_WITHOUT_RULE.includes(format)) {
      this.unchecked.add(`${label} (format ${shownName(format, 30)})`)
    }
    if (typeof contentMediaType === 'string' && format !== 'binary') {
      out.push(['contentMediaType', plainTitle(contentMediaType)])
    }
    if (typeof contentEncoding === 'string' && format !== 'byte') {
      out.push(['contentEncoding', plainTitle(contentEncoding)])
    }
    return out
  }

  private numbers(value: Json, label: string): [string, unknown][] {
    const out: [string, unknown][] = []
    const keep = (keyword: string, number: unknown, valid: boolean) => {
      if (number === undefined) return
      if (valid) out.push([keyword, number])
      else this.unchecked.add(`${label} (invalid ${keyword})`)
    }
    for (const keyword of COUNTS) {
      const number = value[keyword]
      keep(keyword, number, Number.isSafeInteger(number) && Number(number) >= 0)
    }
    for (const [bound, exclusive] of [
      ['minimum', 'exclusiveMinimum'],
      ['maximum', 'exclusiveMaximum'],
    ] as const) {
      // In OpenAPI 3.0 `exclusiveMinimum: true` changes the meaning of `minimum`.
      const asBoolean = typeof value[exclusive] === 'boolean'
      keep(value[exclusive] === true ? exclusive : bound, value[bound], Number.isFinite(value[bound]))
      if (!asBoolean) keep(exclusive, value[exclusive], Number.isFinite(value[exclusive]))
    }
    keep('multipleOf', value['multipleOf'], Number.isFinite(value['multipleOf']) && Number(value['multipleOf']) > 0)
    if (value['uniqueItems'] === true) out.push(['uniqueItems', true])
    return out
  }

  private data(value: Json): [string, unknown][] {
    const out: [string, unknown][] = []
    for (const keyword of ['const', 'default'] as const) {
      if (Object.hasOwn(value, keyword)) out.push([keyword, this.datum(value[keyword])])
    }
    if (Array.isArray(value['enum'])) out.push(['enum', value['enum'].map((one) => this.datum(one))])
    return out
  }

  /** Data of the document, copied: finite numbers, and no member that is a prototype. */
  private datum(value: unknown): unknown {
    this.count(1)
    if (Array.isArray(value)) return value.map((one) => this.datum(one))
    if (isJson(value)) {
      if (Object.hasOwn(value, '__proto__')) throw new SchemaProblem('has data with the member __proto__')
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, this.datum(one)]))
    }
    if (typeof value === 'string') this.count(Math.floor(value.length / 100))
    if (value === null || typeof value === 'string' || typeof value === 'boolean' || Number.isFinite(value)) {
      return value
    }
    throw new SchemaProblem('has data that is not JSON')
  }

  private forms(value: Json, label: string, hidden: ReadonlySet<string>): [string, unknown][] {
    const out: [string, unknown][] = []
    for (const keyword of IN_PLACE_LISTS) {
      const parts = elementsOf(value[keyword])
      if (parts.length === 0) continue
      // A discriminator is a hint: the forms that it chooses from need not exclude each other.
      const hinted = keyword === 'oneOf' && isJson(value['discriminator']) && value['anyOf'] === undefined
      out.push([
        hinted ? 'anyOf' : keyword,
        parts.map((part) => this.schema(part, label, hidden, keyword === 'allOf' ? 'joined' : 'alone')),
      ])
    }
    for (const keyword of IN_PLACE) {
      if (value[keyword] !== undefined) out.push([keyword, this.schema(value[keyword], label)])
    }
    return out
  }

  private members(value: Json, label: string, hidden: ReadonlySet<string>): [string, unknown][] {
    const out: [string, unknown][] = []
    const properties = this.named(value['properties'], (part) => !(isJson(part) && part['readOnly'] === true))
    if (properties) out.push(['properties', properties])
    const required = plainNames(value['required']).filter((name) => !hidden.has(name))
    if (required.length > 0) out.push(['required', required])
    const dependent = this.named(value['dependentSchemas'], () => true)
    if (dependent) out.push(['dependentSchemas', dependent])
    if (isJson(value['dependentRequired'])) {
      const entries = Object.entries(value['dependentRequired']).filter(([name]) => isName(name))
      out.push(['dependentRequired', Object.fromEntries(entries.map(([name, needed]) => [name, plainNames(needed)]))])
      this.count(entries.length)
    }
    this.count(required.length)
    return [...out, ...this.patternMembers(value, label)]
  }

  /** Members that only answers have, of a schema and of those that it is joined of. */
  private readOnlyNames(value: Json): string[] {
    const joined = elementsOf(value['allOf']).flatMap((part) => {
      const followed = this.documents.follow({ ...this.root, value: part })
      return followed.ok && isJson(followed.value.value) ? [followed.value.value] : []
    })
    return [value, ...joined].flatMap(({ properties }) =>
      Object.entries(isJson(properties) ? properties : {}).flatMap(([name, part]) =>
        isJson(part) && part['readOnly'] === true ? [name] : [],
      ),
    )
  }

  /** Names that follow a pattern: no pattern is run, so any name may have their form. */
  private patternMembers(value: Json, label: string): [string, unknown][] {
    const forms = isJson(value['patternProperties']) ? Object.values(value['patternProperties']) : []
    if (forms.length === 0) return []
    this.unchecked.add(`${label} (names of members)`)
    const { additionalProperties } = value
    const others = additionalProperties === undefined || additionalProperties === false ? [] : [additionalProperties]
    return [['additionalProperties', { anyOf: [...forms, ...others].map((form) => this.schema(form, label)) }]]
  }

  private elements(value: Json, label: string): [string, unknown][] {
    const out: [string, unknown][] = []
    for (const keyword of VALUES) {
      const part = value[keyword]
      if (part === undefined || (keyword === 'items' && Array.isArray(part))) continue
      if (keyword === 'additionalProperties' && isJson(value['patternProperties'])) continue
      out.push([keyword, this.schema(part, label)])
    }
    const prefix = Array.isArray(value['items']) ? value['items'] : elementsOf(value['prefixItems'])
    if (prefix.length > 0) out.push(['prefixItems', prefix.map((part) => this.schema(part, label))])
    return out
  }

  private named(value: unknown, keep: (part: unknown) => boolean): Json | null {
    if (!isJson(value)) return null
    const entries = Object.entries(value).filter(([, part]) => keep(part))
    this.count(entries.length)
    const bad = entries.find(([name]) => !isName(name))
    if (bad) throw new SchemaProblem(`declares a member with a name that is not allowed: ${shownMember(bad[0])}`)
    return Object.fromEntries(entries.map(([name, part]) => [name, this.schema(part, name)]))
  }
}

/** The name of a target in `$defs`: the same in every import, whatever else is imported. */
function definitionName(key: string): string {
  const last = key.split('/').at(-1) ?? ''
  const plain = last.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 60)
  if (key === `#/components/schemas/${plain}` && plain !== '__proto__') return plain
  return `${plain.replace(/^_+/, '')}_${createHash('sha256').update(key).digest('hex').slice(0, 6)}`
}

function nullable(value: Json, schema: Json): DataSchema {
  if (value['nullable'] !== true) return schema
  const { type } = schema
  if (typeof type === 'string' && type !== 'null') return { ...schema, type: [type, 'null'] }
  if (type === undefined && (schema['$ref'] || schema['allOf'] || schema['anyOf'] || schema['oneOf'])) {
    return { anyOf: [schema, { type: 'null' }] }
  }
  return schema
}

function plainNames(value: unknown): string[] {
  return elementsOf(value).filter((name): name is string => typeof name === 'string' && isName(name))
}

function isName(name: string): boolean {
  return name !== '__proto__' && name.length <= MAX_NAME && isPlainLine(name)
}

function shownMember(name: string): string {
  return JSON.stringify(name.slice(0, 60)).replace(/[^\x20-\x7e]/g, '?')
}

/** Finds the subtypes of schemas with a discriminator: what joins them by `allOf`, what they map to, and the forms that they list. */
class Subtypes {
  private readonly documents: Documents
  private readonly known = new Map<string, readonly Located[]>()
  private joined: ReadonlyMap<string, readonly Located[]> | null = null

  constructor(documents: Documents) {
    this.documents = documents
  }

  /** All subtypes, also those of subtypes, without the schema itself. */
  of(base: Located): readonly Located[] {
    const known = this.known.get(base.key)
    if (known) return known
    const found = new Map<string, Located>([[base.key, base]])
    // A map goes on with what is added while it is walked.
    for (const [, one] of found) for (const sub of this.direct(one)) if (!found.has(sub.key)) found.set(sub.key, sub)
    found.delete(base.key)
    const all = [...found.values()]
    this.known.set(base.key, all)
    return all
  }

  private direct(base: Located): Located[] {
    this.joined ??= this.read()
    const { oneOf, anyOf, discriminator } = isJson(base.value) ? base.value : {}
    const mapping = isJson(discriminator) && isJson(discriminator['mapping']) ? discriminator['mapping'] : {}
    const forms = [...elementsOf(oneOf), ...elementsOf(anyOf)].map((form) => (isJson(form) ? form['$ref'] : undefined))
    const mapped = Object.values(mapping).map((target) =>
      typeof target === 'string' && !/[/#.]/.test(target) ? `#/components/schemas/${target}` : target,
    )
    return [...(this.joined.get(base.key) ?? []), ...[...forms, ...mapped].flatMap((ref) => this.target(ref, base))]
  }

  private target(ref: unknown, from: Pick<Located, 'base'>): Located[] {
    const found = typeof ref === 'string' ? this.documents.resolve(ref, from) : null
    return found?.ok ? [found.value] : []
  }

  /** The schemas of the document by what they join. */
  private read(): ReadonlyMap<string, readonly Located[]> {
    const { root, start } = this.documents
    const { components } = root
    const schemas = isJson(components) && isJson(components['schemas']) ? components['schemas'] : {}
    const joined = new Map<string, Located[]>()
    for (const [name, schema] of Object.entries(schemas)) {
      const pointer = name.replaceAll('~', '~0').replaceAll('/', '~1')
      const [own] = this.target(`#/components/schemas/${encodeURIComponent(pointer)}`, start)
      for (const part of isJson(schema) ? elementsOf(schema['allOf']) : [])
        for (const base of own && isJson(part) ? this.target(part['$ref'], start) : [])
          if (own) joined.set(base.key, [...(joined.get(base.key) ?? []), own])
    }
    return joined
  }
}
