import type { DataSchema } from '../../core/apis/api'
import { elementsOf, isJson, type Json } from '../../core/json'

const MAX_INLINED_PARTS = 2_000
const MAX_INLINED_DEPTH = 50
const MAX_DEFINITIONS = 300
const PREFIX = '#/$defs/'
/** Keywords with data in them, in which a `$ref` is no reference. */
const DATA = ['const', 'default', 'enum', 'required', 'dependentRequired']
const BESIDE_REF = ['title', 'description', 'deprecated', 'default', 'unevaluatedProperties']

class TooLarge extends Error {}

/**
 * A schema with its definitions. Definitions that do not contain themselves are written where they are referred to: many readers of
 * schemas follow no references. Where this makes the schema large, all definitions stay.
 */
export function withDefinitions(schema: DataSchema, defs: Json): DataSchema {
  if (!isJson(schema)) return schema
  const names = Object.keys(defs)
  if (names.length === 0) return schema
  if (names.length > MAX_DEFINITIONS) return { ...schema, $defs: defs }
  const recursive = recursiveNames(schema, defs)
  try {
    const inliner = new Inliner(defs, recursive)
    const root = inliner.inlined(schema, 0)
    const kept = [...recursive].map((name) => [name, inliner.inlined(defs[name], 0)])
    if (kept.length === 0) return root
    return isJson(root) ? { ...root, $defs: Object.fromEntries(kept) } : root
  } catch (error) {
    if (error instanceof TooLarge) return { ...schema, $defs: defs }
    throw error
  }
}

class Inliner {
  private readonly defs: Json
  private readonly recursive: ReadonlySet<string>
  private parts = 0

  constructor(defs: Json, recursive: ReadonlySet<string>) {
    this.defs = defs
    this.recursive = recursive
  }

  inlined(schema: unknown, depth: number): DataSchema {
    if (!isJson(schema)) return schema === true
    if (depth > MAX_INLINED_DEPTH) throw new TooLarge()
    const { $ref, ...beside } = Object.fromEntries(
      Object.entries(schema).map(([keyword, part]) => [
        keyword,
        DATA.includes(keyword) ? part : this.inside(keyword, part, depth),
      ]),
    )
    this.parts += Object.keys(schema).length
    if (this.parts > MAX_INLINED_PARTS) throw new TooLarge()
    if (typeof $ref !== 'string') return beside
    const name = $ref.slice(PREFIX.length)
    if (this.recursive.has(name)) return { $ref, ...beside }
    return joined(this.inlined(this.defs[name], depth + 1), beside)
  }

  private inside(keyword: string, part: unknown, depth: number): unknown {
    if (Array.isArray(part)) {
      this.parts += part.length
      return part.map((one: unknown) => (isJson(one) || typeof one === 'boolean' ? this.inlined(one, depth + 1) : one))
    }
    if (!isJson(part)) return part
    if (keyword !== 'properties' && keyword !== 'dependentSchemas') return this.inlined(part, depth + 1)
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, this.inlined(one, depth + 1)]))
  }
}

/** A definition in the place of its reference, with the reference's sibling keywords. */
function joined(target: DataSchema, beside: Json): DataSchema {
  if (Object.keys(beside).length === 0) return target
  const simple = Object.keys(beside).every((keyword) => BESIDE_REF.includes(keyword))
  if (isJson(target) && simple && target['unevaluatedProperties'] === undefined) return { ...target, ...beside }
  return { ...beside, allOf: [target, ...elementsOf(beside['allOf'])] }
}

/** Definitions at which every circle of references is cut. */
function recursiveNames(schema: Json, defs: Json): ReadonlySet<string> {
  const recursive = new Set<string>()
  const done = new Set<string>()
  const open = new Set<string>()
  const visit = (part: unknown): void => {
    for (const name of referencesOf(part)) {
      if (open.has(name)) recursive.add(name)
      else if (!done.has(name)) {
        open.add(name)
        visit(defs[name])
        open.delete(name)
        done.add(name)
      }
    }
  }
  visit(schema)
  return recursive
}

/** The names that a schema refers to, in order. Data and names of members may look like references, and are not. */
function referencesOf(schema: unknown): string[] {
  const names = new Set<string>()
  const visit = (part: unknown, named: boolean): void => {
    if (Array.isArray(part)) for (const one of part) visit(one, false)
    if (!isJson(part)) return
    for (const [keyword, inside] of Object.entries(part)) {
      if (named) visit(inside, false)
      else if (keyword === '$ref' && typeof inside === 'string') names.add(inside.slice(PREFIX.length))
      else if (!DATA.includes(keyword)) visit(inside, keyword === 'properties' || keyword === 'dependentSchemas')
    }
  }
  visit(schema, false)
  return [...names]
}
