import { isJson } from '../json'
import type { DataSchema } from './api'

export type ScalarKind = 'string' | 'number' | 'boolean'
type Kind = ScalarKind | 'array' | 'object'

/** A scalar that a schema allows. `values`: all that it may be, by `enum` or `const`; null for any of its kind. */
export interface Scalar {
  readonly kind: ScalarKind
  readonly values: readonly unknown[] | null
}

/**
 * The kinds of value that a schema names, gathered over all its parts for the same value: references, `allOf`, `anyOf` and `oneOf`.
 * It chooses how a text is read; whether the value is valid is decided by the validator alone.
 */
export class Shape {
  /** The schema itself, and its parts for the same value. */
  private readonly parts: readonly Readonly<Record<string, unknown>>[]
  private readonly root: DataSchema
  private inner: Map<string, Shape> | null = null
  /** Empty: any kind. In the order of the schema. */
  readonly kinds: ReadonlySet<Kind>
  readonly scalars: readonly Scalar[]

  private constructor(schemas: readonly unknown[], root: DataSchema) {
    this.root = root
    const found = new Set<Readonly<Record<string, unknown>>>()
    for (const schema of schemas) gather(schema, root, found)
    this.parts = [...found]
    this.kinds = new Set(this.parts.flatMap(kindsOf))
    this.scalars = this.parts.flatMap((part) =>
      kindsOf(part).flatMap((kind) => (isScalar(kind) ? [{ kind, values: valuesOf(part) }] : [])),
    )
  }

  /** Read once per schema, which is immutable. */
  static of(schema: DataSchema): Shape {
    if (typeof schema === 'boolean') return ANY
    const known = SHAPES.get(schema)
    if (known) return known
    const shape = new Shape([schema], schema)
    SHAPES.set(schema, shape)
    return shape
  }

  get isAny(): boolean {
    return this.kinds.size === 0
  }

  has(kind: Kind): boolean {
    return this.kinds.has(kind)
  }

  /** Whether it is neither a scalar nor of any kind. */
  get isNested(): boolean {
    return !this.isAny && this.scalars.length === 0
  }

  /** The names of declared members. */
  get members(): readonly string[] {
    return [...new Set(this.parts.flatMap(({ properties }) => (isJson(properties) ? Object.keys(properties) : [])))]
  }

  isMember(name: string): boolean {
    return this.parts.some(({ properties }) => isJson(properties) && Object.hasOwn(properties, name))
  }

  /** The elements of a list. */
  get items(): Shape {
    return this.inside('items', () => this.parts.flatMap(({ items, prefixItems }) => [items, prefixItems].flat()))
  }

  /** A member of an object: as it is declared, else as further members are. */
  member(name: string): Shape {
    return this.inside(`member ${name}`, () => {
      const declared = this.parts.flatMap(({ properties }) =>
        isJson(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
      )
      if (declared.length > 0) return declared
      return this.parts.flatMap(({ additionalProperties, unevaluatedProperties }) => [
        additionalProperties,
        unevaluatedProperties,
      ])
    })
  }

  /** A member as a schema of its own, to read and write it by. It does not validate. */
  memberSchema(name: string): DataSchema {
    const declared = this.parts.flatMap(({ properties }) =>
      isJson(properties) && Object.hasOwn(properties, name) ? [properties[name]] : [],
    )
    const defs = typeof this.root === 'boolean' ? undefined : this.root['$defs']
    return { anyOf: declared, ...(defs !== undefined && { $defs: defs }) }
  }

  private inside(key: string, schemas: () => readonly unknown[]): Shape {
    this.inner ??= new Map()
    const known = this.inner.get(key)
    if (known) return known
    const shape = new Shape(schemas(), this.root)
    // The names of members may be the caller's.
    if (this.inner.size < 1_000) this.inner.set(key, shape)
    return shape
  }
}

const SHAPES = new WeakMap<Exclude<DataSchema, boolean>, Shape>()
const ANY = Shape.of({})

function gather(schema: unknown, root: DataSchema, found: Set<Readonly<Record<string, unknown>>>): void {
  // A schema that leads back to itself is gathered once.
  if (!isJson(schema) || found.has(schema)) return
  found.add(schema)
  if (typeof schema['$ref'] === 'string') gather(referenced(schema['$ref'], root), root, found)
  for (const word of ['allOf', 'anyOf', 'oneOf'])
    if (Array.isArray(schema[word])) for (const part of schema[word]) gather(part, root, found)
}

function kindsOf(schema: Readonly<Record<string, unknown>>): Kind[] {
  const { type } = schema
  const types = Array.isArray(type) ? type : [type]
  const named = types.flatMap((one) => (one === 'integer' ? 'number' : isKind(one) ? one : []))
  if (named.length > 0) return named
  const sampled = (valuesOf(schema) ?? []).map((value): unknown => typeof value).filter(isScalar)
  if (sampled.length > 0) return [...new Set(sampled)]
  if (isJson(schema['properties'])) return ['object']
  return schema['items'] === undefined || type !== undefined ? [] : ['array']
}

function valuesOf({ enum: values, const: only }: Readonly<Record<string, unknown>>): readonly unknown[] | null {
  if (only !== undefined) return [only]
  return Array.isArray(values) ? values : null
}

function isScalar(value: unknown): value is ScalarKind {
  return value === 'string' || value === 'number' || value === 'boolean'
}

function isKind(value: unknown): value is Kind {
  return isScalar(value) || value === 'array' || value === 'object'
}

function referenced(ref: string, root: DataSchema): unknown {
  if (ref === '#') return root
  const name = /^#\/\$defs\/([^/]+)$/.exec(ref)?.[1]
  const defs = typeof root === 'boolean' ? null : root['$defs']
  return name !== undefined && isJson(defs) && Object.hasOwn(defs, name) ? defs[name] : true
}
