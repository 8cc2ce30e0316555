import type { CompileSchema } from '../../core/apis/compile-schema'
import { elementsOf, isJson, type Json } from '../../core/json'
import { shownName } from '../../core/plain-text'
import {
  atLeast,
  atMost,
  numberProblem,
  type Path,
  type Problem,
  sizeProblem,
  textProblem,
  typeProblem,
} from './value-problems'

/** Visits of a schema, a member or an element. Twice as many as the widest body needs against a simple schema. */
const MAX_STEPS = 300_000
/** Schemas inside each other, references included. */
const MAX_DEPTH = 400
const MAX_SHOWN = 200

/** The members and elements that a schema declares: what `unevaluatedProperties` and `unevaluatedItems` do not look at. */
class Evaluated {
  readonly names = new Set<string>()
  readonly items = new Set<number>()

  get size(): number {
    return this.names.size + this.items.size
  }

  add(other: Evaluated): void {
    for (const name of other.names) this.names.add(name)
    for (const item of other.items) this.items.add(item)
  }
}

/** The work took more than its bound. */
class TooComplex extends Error {}

/**
 * Interprets schemas of draft 2020-12 as the importer writes them: references lead to `$defs` of the same schema, `pattern` and `format`
 * are not there. Unlike the draft, `contentSchema` of `application/json` is checked.
 */
export const compileJsonSchema: CompileSchema = (schema) => {
  const defs = isJson(schema) && isJson(schema['$defs']) ? schema['$defs'] : {}
  const enums = new WeakMap<readonly unknown[], ReadonlySet<unknown>>()
  const validation = new Validation(defs, enums)
  return (value) => {
    try {
      const problem = validation.start(schema, value)
      return problem && described(problem)
    } catch (error) {
      if (error instanceof TooComplex) return 'is too complex to be checked'
      throw error
    }
  }
}

class Validation {
  private readonly defs: Json
  private readonly enums: WeakMap<readonly unknown[], ReadonlySet<unknown>>
  private steps = 0
  private depth = 0

  constructor(defs: Json, enums: WeakMap<readonly unknown[], ReadonlySet<unknown>>) {
    this.defs = defs
    this.enums = enums
  }

  /** Checks a value with all of the steps that one may take. */
  start(schema: unknown, value: unknown): Problem | null {
    this.steps = 0
    this.depth = 0
    return this.check(schema, value, null, null)
  }

  /** Adds to `evaluated` what the schema declares, if the value passes. */
  check(schema: unknown, value: unknown, path: Path | null, evaluated: Evaluated | null): Problem | null {
    this.step()
    if (schema === true) return null
    if (!isJson(schema)) return { path, message: 'is not allowed' }
    if (++this.depth > MAX_DEPTH) throw new TooComplex()
    // What `unevaluated...` of this schema leaves out is also what this schema reports upwards.
    const own = evaluated || asksUnevaluated(schema) ? new Evaluated() : null
    const problem =
      this.scalars(schema, value, path) ??
      this.forms(schema, value, path, own) ??
      (isJson(value) ? this.object(schema, value, path, own) : null) ??
      (Array.isArray(value) ? this.list(schema, value, path, own) : null)
    this.depth--
    if (problem) return problem
    if (evaluated && own) {
      this.step(own.size)
      evaluated.add(own)
    }
    return null
  }

  private step(count = 1): void {
    this.steps += count
    if (this.steps > MAX_STEPS) throw new TooComplex()
  }

  private passes(schema: unknown, value: unknown, evaluated: Evaluated | null = null): boolean {
    return this.check(schema, value, null, evaluated) === null
  }

  private scalars(schema: Json, value: unknown, path: Path | null): Problem | null {
    // Characters are counted one by one.
    if (typeof value === 'string' && (schema['minLength'] !== undefined || schema['maxLength'] !== undefined)) {
      this.step(value.length >> 4)
    }
    const message =
      typeProblem(schema, value) ??
      this.enumProblem(schema, value) ??
      (typeof value === 'number' ? numberProblem(schema, value) : null) ??
      (typeof value === 'string' ? textProblem(schema, value) : null)
    if (message) return { path, message }
    return typeof value === 'string' ? this.content(schema, value, path) : null
  }

  private enumProblem(schema: Json, value: unknown): string | null {
    if (Object.hasOwn(schema, 'const') && !this.equal(schema['const'], value)) return 'must be the declared constant'
    const allowed = schema['enum']
    if (!Array.isArray(allowed)) return null
    const isScalar = typeof value !== 'object' || value === null
    const isAllowed = isScalar ? this.scalarsOf(allowed).has(value) : this.isOneOf(allowed, value)
    return isAllowed ? null : 'must be one of the declared values'
  }

  private isOneOf(allowed: readonly unknown[], value: unknown): boolean {
    return allowed.some((one) => this.equal(one, value))
  }

  private scalarsOf(allowed: readonly unknown[]): ReadonlySet<unknown> {
    const known = this.enums.get(allowed)
    if (known) return known
    const made = new Set(allowed)
    this.enums.set(allowed, made)
    return made
  }

  private equal(a: unknown, b: unknown): boolean {
    this.step()
    if (a === b) return true
    if (Array.isArray(a)) {
      return Array.isArray(b) && a.length === b.length && a.every((one, i) => this.equal(one, b[i]))
    }
    if (!isJson(a) || !isJson(b)) return false
    const names = Object.keys(a)
    if (names.length !== Object.keys(b).length) return false
    return names.every((name) => Object.hasOwn(b, name) && this.equal(a[name], b[name]))
  }

  private content(schema: Json, value: string, path: Path | null): Problem | null {
    if (schema['contentMediaType'] !== 'application/json' || schema['contentSchema'] === undefined) return null
    this.step(Math.ceil(value.length / 16))
    try {
      const inner: unknown = JSON.parse(value)
      return this.check(schema['contentSchema'], inner, path, null)
    } catch (error) {
      if (error instanceof TooComplex) throw error
      return { path, message: 'must be JSON' }
    }
  }

  /** The keywords that apply other schemas to the same value. */
  private forms(schema: Json, value: unknown, path: Path | null, evaluated: Evaluated | null): Problem | null {
    if (typeof schema['$ref'] === 'string') {
      const problem = this.check(this.target(schema['$ref']), value, path, evaluated)
      if (problem) return problem
    }
    for (const part of elementsOf(schema['allOf'])) {
      const problem = this.check(part, value, path, evaluated)
      if (problem) return problem
    }
    const { anyOf, oneOf } = schema
    return (
      (Array.isArray(anyOf) ? this.choice(anyOf, Number.POSITIVE_INFINITY, value, path, evaluated) : null) ??
      (Array.isArray(oneOf) ? this.choice(oneOf, 1, value, path, evaluated) : null) ??
      this.conditional(schema, value, path, evaluated)
    )
  }

  private target(ref: string): unknown {
    const name = ref.startsWith('#/$defs/') ? ref.slice('#/$defs/'.length) : ''
    // An unknown reference allows nothing.
    return Object.hasOwn(this.defs, name) ? this.defs[name] : false
  }

  private choice(
    options: readonly unknown[],
    most: number,
    value: unknown,
    path: Path | null,
    evaluated: Evaluated | null,
  ): Problem | null {
    const problems: Problem[] = []
    let matches = 0
    for (const option of options) {
      const problem = this.check(option, value, path, evaluated)
      if (problem) problems.push(problem)
      else if (++matches > most) return { path, message: 'must match only one of the declared forms' }
      // Which members are declared is a matter of all forms that match.
      else if (most > 1 && !evaluated) return null
    }
    if (matches > 0) return null
    // A problem inside the value says more than that no form matches.
    const inner = problems.filter((problem) => problem.path !== path)
    return inner[0] && inner.length === 1 ? inner[0] : { path, message: 'must match one of the declared forms' }
  }

  private conditional(schema: Json, value: unknown, path: Path | null, evaluated: Evaluated | null): Problem | null {
    if (schema['not'] !== undefined && this.passes(schema['not'], value)) {
      return { path, message: 'has a form that is not allowed' }
    }
    if (schema['if'] === undefined) return null
    const next = this.passes(schema['if'], value, evaluated) ? schema['then'] : schema['else']
    return next === undefined ? null : this.check(next, value, path, evaluated)
  }

  private object(schema: Json, value: Json, path: Path | null, evaluated: Evaluated | null): Problem | null {
    const names = Object.keys(value)
    this.step(names.length + elementsOf(schema['required']).length)
    return (
      sizeProblem(schema, value, names.length, path) ??
      this.dependent(schema, value, path, evaluated) ??
      this.members(schema, value, names, path, evaluated) ??
      this.unevaluatedMembers(schema, value, names, path, evaluated)
    )
  }

  private dependent(schema: Json, value: Json, path: Path | null, evaluated: Evaluated | null): Problem | null {
    for (const [name, needed] of entriesOf(schema['dependentRequired'])) {
      this.step()
      if (!Object.hasOwn(value, name)) continue
      const missing = elementsOf(needed).find((other) => typeof other === 'string' && !Object.hasOwn(value, other))
      this.step(elementsOf(needed).length)
      if (missing !== undefined) return { path, message: `must have the member ${missing}, as it has ${name}` }
    }
    for (const [name, needed] of entriesOf(schema['dependentSchemas'])) {
      this.step()
      const problem = Object.hasOwn(value, name) ? this.check(needed, value, path, evaluated) : null
      if (problem) return problem
    }
    return null
  }

  private members(
    schema: Json,
    value: Json,
    names: readonly string[],
    path: Path | null,
    evaluated: Evaluated | null,
  ): Problem | null {
    const properties = isJson(schema['properties']) ? schema['properties'] : {}
    const { propertyNames, additionalProperties } = schema
    for (const name of names) {
      const at = { parent: path, key: name }
      if (propertyNames !== undefined && !this.passes(propertyNames, name)) {
        return { path: at, message: 'is a name that is not allowed' }
      }
      const declared = Object.hasOwn(properties, name)
      const rule = declared ? properties[name] : additionalProperties
      if (rule === undefined) continue
      if (rule === false) return { path: at, message: 'is not declared' }
      const problem = this.check(rule, value[name], at, null)
      if (problem) return problem
      evaluated?.names.add(name)
    }
    return null
  }

  private unevaluatedMembers(
    schema: Json,
    value: Json,
    names: readonly string[],
    path: Path | null,
    evaluated: Evaluated | null,
  ): Problem | null {
    const rule = schema['unevaluatedProperties']
    if (rule === undefined || !evaluated) return null
    for (const name of names) {
      if (evaluated.names.has(name)) continue
      const at = { parent: path, key: name }
      if (rule === false) return { path: at, message: 'is not declared' }
      const problem = this.check(rule, value[name], at, null)
      if (problem) return problem
      evaluated.names.add(name)
    }
    return null
  }

  private list(
    schema: Json,
    value: readonly unknown[],
    path: Path | null,
    evaluated: Evaluated | null,
  ): Problem | null {
    this.step(value.length)
    const { minItems, maxItems, unevaluatedItems } = schema
    if (typeof minItems === 'number' && value.length < minItems) return atLeast(minItems, 'element', path)
    if (typeof maxItems === 'number' && value.length > maxItems) return atMost(maxItems, 'element', path)
    const prefix = elementsOf(schema['prefixItems'])
    for (const [i, element] of value.entries()) {
      const rule = i < prefix.length ? prefix[i] : schema['items']
      if (rule === undefined) break
      const problem = this.check(rule, element, { parent: path, key: i }, null)
      if (problem) return problem
      evaluated?.items.add(i)
    }
    const problem = this.contained(schema, value, path, evaluated) ?? this.unique(schema, value, path)
    if (problem || unevaluatedItems === undefined || !evaluated) return problem
    for (const [i, element] of value.entries()) {
      if (evaluated.items.has(i)) continue
      const other = this.check(unevaluatedItems, element, { parent: path, key: i }, null)
      if (other) return other
      evaluated.items.add(i)
    }
    return null
  }

  private contained(
    schema: Json,
    value: readonly unknown[],
    path: Path | null,
    evaluated: Evaluated | null,
  ): Problem | null {
    const { contains, minContains, maxContains } = schema
    if (contains === undefined) return null
    let count = 0
    for (const [i, element] of value.entries()) {
      if (!this.passes(contains, element)) continue
      count++
      evaluated?.items.add(i)
    }
    if (count < (typeof minContains === 'number' ? minContains : 1)) {
      return { path, message: 'must contain an element of the declared form' }
    }
    if (typeof maxContains === 'number' && count > maxContains) {
      return { path, message: 'contains too many elements of the declared form' }
    }
    return null
  }

  private unique(schema: Json, value: readonly unknown[], path: Path | null): Problem | null {
    if (schema['uniqueItems'] !== true) return null
    const seen = new Set<string>()
    for (const [i, element] of value.entries()) {
      const key = this.canonical(element)
      if (seen.has(key)) return { path: { parent: path, key: i }, message: 'must not repeat an earlier element' }
      seen.add(key)
    }
    return null
  }

  private canonical(value: unknown): string {
    this.step()
    if (Array.isArray(value)) return `[${value.map((one) => this.canonical(one)).join(',')}]`
    if (!isJson(value)) return JSON.stringify(value)
    const members = Object.keys(value).sort()
    return `{${members.map((name) => `${JSON.stringify(name)}:${this.canonical(value[name])}`).join(',')}}`
  }
}

function asksUnevaluated(schema: Json): boolean {
  return schema['unevaluatedProperties'] !== undefined || schema['unevaluatedItems'] !== undefined
}

function entriesOf(value: unknown): [string, unknown][] {
  return isJson(value) ? Object.entries(value) : []
}

function described({ path, message }: Problem): string {
  const keys: string[] = []
  for (let at = path; at; at = at.parent) keys.push(String(at.key).replaceAll('~', '~0').replaceAll('/', '~1'))
  const pointer = keys.reverse().map((key) => `/${shownName(key, 60)}`)
  const shown = shownName(pointer.join(''), MAX_SHOWN)
  return shown === '' ? message : `${shown} ${message}`
}
