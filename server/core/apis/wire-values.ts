import { isJson } from '../json'
import type { ApiParameter, DataSchema } from './api'

/** A parameter of a call: its value to validate, and the texts that are sent, by the parameter's style. */
export interface WireValue {
  readonly value: unknown
  /** Pairs of name and text, not encoded yet. For a path or header parameter one pair. */
  readonly pairs: readonly (readonly [string, string])[]
  /** Why it cannot be written so that it is read as it was validated. */
  readonly problem?: string
}

type Validate = (value: unknown) => string | null

/** The texts that a caller sent, by name. */
export type SentTexts = ReadonlyMap<string, readonly string[]>

/**
 * Reads a parameter from the texts that a caller sent, by its style; undefined if it was not sent. What is sent up is made anew from the
 * parsed value, never copied from the caller's query.
 */
export function readParameter(parameter: ApiParameter, sent: SentTexts, validate: Validate): WireValue | undefined {
  const { name, schema } = parameter
  const kind = kindOf(schema)
  if (kind === 'object') {
    const members = readMembers(parameter, sent)
    if (!members) return undefined
    return writeParameter(parameter, typedMembers(members, schema))
  }
  const texts = sent.get(name)
  if (!texts || texts.length === 0) return undefined
  if (kind === 'array') return readList(parameter, texts)
  // Sent more than once: validation refuses the list.
  if (texts.length > 1) return { value: texts, pairs: [] }
  const { value, text } = typed(texts[0] ?? '', schema, validate)
  return { value, pairs: [[name, text]] }
}

function readList(parameter: ApiParameter, texts: readonly string[]): WireValue {
  const { schema, style, explode } = parameter
  const isRepeated = style === 'form' && explode
  // One text holds the whole list; sent more than once, it is no list of this style.
  if (!isRepeated && texts.length > 1) return { value: texts, pairs: [] }
  const parts = isRepeated ? texts : split(texts[0] ?? '', style)
  const list = parts.map((text) => typed(text, itemsOf(schema), () => null))
  const written = list.map(({ text }) => text)
  return { value: list.map(({ value }) => value), pairs: pairsOf(parameter, written) }
}

/** The texts of a value that was given as JSON, as in a tool call. */
export function writeParameter(parameter: ApiParameter, value: unknown): WireValue {
  const { name, style, explode, schema, in: location } = parameter
  if (Array.isArray(value)) {
    const texts = value.map(wireText)
    const isOpen = explode && style === 'form' && location === 'query'
    const problem = isOpen ? null : delimiterProblem(texts, DELIMITERS[style])
    return { value, pairs: pairsOf(parameter, texts), ...(problem !== null && { problem }) }
  }
  if (isJson(value)) {
    const entries = Object.entries(value).map(([key, member]) => [key, wireText(member)] as const)
    if (style === 'deepObject') {
      const pairs = entries.map(([key, text]) => [`${name}[${key}]`, text] as const)
      const isNested = entries.some(([key]) => /[[\]]/.test(key))
      return { value, pairs, ...(isNested && { problem: 'must not have brackets in the names of its members' }) }
    }
    if (explode && location === 'query') {
      const declared = membersOf(schema)
      const isUnknown = entries.some(([key]) => !Object.hasOwn(declared, key))
      return { value, pairs: entries, ...(isUnknown && { problem: 'has a member that is not declared' }) }
    }
    const isNamed = explode && style === 'simple'
    const problem = delimiterProblem(entries.flat(), ',') ?? (isNamed ? delimiterProblem(entries.flat(), '=') : null)
    const text = entries.map((entry) => entry.join(isNamed ? '=' : ',')).join(',')
    return { value, pairs: [[name, text]], ...(problem !== null && { problem }) }
  }
  return { value, pairs: [[name, wireText(value)]] }
}

function delimiterProblem(texts: readonly string[], delimiter: string): string | null {
  return texts.some((text) => text.includes(delimiter)) ? `must not contain "${delimiter}" in its parts` : null
}

/** Whether a query parameter is an object whose members are sent under their own names. */
export function isSpread({ schema, style, explode, in: location }: ApiParameter): boolean {
  return location === 'query' && kindOf(schema) === 'object' && style !== 'deepObject' && explode
}

export function memberNames({ schema }: ApiParameter): string[] {
  return Object.keys(membersOf(schema))
}

/** The fields of a form under one name: the value that its schema wants, and their texts as they were read. Objects are JSON. */
export function readFormField(texts: readonly string[], schema: DataSchema) {
  const isList = kindOf(schema) === 'array'
  const one = isList ? itemsOf(schema) : schema
  const read = texts.map((text) => (kindOf(one) === 'object' ? jsonIn(text) : typed(text, one, () => null)))
  const values = read.map(({ value }) => value)
  return { value: isList || values.length > 1 ? values : values[0], texts: read.map(({ text }) => text) }
}

function jsonIn(text: string): { readonly value: unknown; readonly text: string } {
  try {
    const value: unknown = JSON.parse(text)
    return { value, text: JSON.stringify(value) }
  } catch {
    return { value: text, text }
  }
}

/** All query names that a parameter may be sent by; those of objects depend on their members. */
export function claimsName(parameter: ApiParameter, name: string): boolean {
  if (parameter.in !== 'query') return false
  if (kindOf(parameter.schema) !== 'object') return name === parameter.name
  if (parameter.style === 'deepObject') return name.startsWith(`${parameter.name}[`) && name.endsWith(']')
  if (parameter.explode) return Object.hasOwn(membersOf(parameter.schema), name)
  return name === parameter.name
}

const NO_TEXTS: readonly string[] = []
const DELIMITERS = { form: ',', simple: ',', spaceDelimited: ' ', pipeDelimited: '|', deepObject: ',' } as const

function split(text: string, style: ApiParameter['style']): string[] {
  return text === '' ? [] : text.split(DELIMITERS[style])
}

function pairsOf({ name, style, explode, in: location }: ApiParameter, texts: readonly string[]): [string, string][] {
  if (location === 'query' && style === 'form' && explode) return texts.map((text) => [name, text])
  return [[name, texts.join(DELIMITERS[style])]]
}

function readMembers(
  { name, style, explode, schema }: ApiParameter,
  sent: SentTexts,
): Map<string, readonly string[]> | null {
  const found = new Map<string, readonly string[]>()
  if (style === 'deepObject') {
    for (const [one, texts] of sent)
      if (one.startsWith(`${name}[`) && one.endsWith(']')) found.set(one.slice(name.length + 1, -1), texts)
  } else if (explode && style !== 'simple') {
    for (const member of Object.keys(membersOf(schema))) {
      const texts = sent.get(member) ?? NO_TEXTS
      if (texts.length > 0) found.set(member, texts)
    }
  } else {
    const texts = sent.get(name) ?? NO_TEXTS
    const text = texts[0] ?? ''
    // `a=1,b=2` for `a,1,b,2`; an `=` of a value stays, and is refused.
    const parts = text === '' ? [] : explode ? text.split(',').flatMap(namedPart) : text.split(',')
    for (let i = 0; i + 1 < parts.length; i += 2) found.set(parts[i] ?? '', [parts[i + 1] ?? ''])
  }
  return found.size === 0 ? null : found
}

function namedPart(part: string): [string, string] {
  const at = part.indexOf('=')
  return at < 0 ? [part, ''] : [part.slice(0, at), part.slice(at + 1)]
}

function typedMembers(members: ReadonlyMap<string, readonly string[]>, schema: DataSchema): Record<string, unknown> {
  const declared = membersOf(schema)
  const entries = [...members].map(([key, texts]) => {
    const member = Object.hasOwn(declared, key) ? declared[key] : true
    const value = texts.length === 1 ? typed(texts[0] ?? '', member ?? true, () => null).value : texts
    return [key, value] as const
  })
  return Object.fromEntries(entries)
}

/** A text as the value that its schema wants: a number, a boolean, or the text itself. */
function typed(
  text: string,
  schema: DataSchema,
  validate: Validate,
): { readonly value: unknown; readonly text: string } {
  const kinds = kindsOf(schema)
  for (const kind of kinds) {
    const value = kind === 'boolean' ? booleanIn(text) : kind === 'string' ? text : numberIn(text)
    if (value !== undefined && (kinds.length === 1 || validate(value) === null))
      return { value, text: typeof value === 'number' ? plainNumber(value, text) : text }
  }
  return { value: text, text }
}

/** JSON's own numbers, so that the text means the same to every reader. */
function numberIn(text: string): number | undefined {
  if (!/^-?(0|[1-9]\d{0,20})(\.\d{1,20})?([eE][+-]?\d{1,3})?$/.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) ? value : undefined
}

/**
 * A number that every reader reads alike: `10e-1` is 1 to one, and 10 to another that stops at the `e`. Digits that a double cannot hold stay.
 */
function plainNumber(value: number, text: string): string {
  if (!/[.eE]/.test(text)) return text
  if (Number.isInteger(value)) return BigInt(value).toString()
  return /[eE]/.test(text) ? String(value) : text
}

function booleanIn(text: string): boolean | undefined {
  return text === 'true' ? true : text === 'false' ? false : undefined
}

function wireText(value: unknown): string {
  if (typeof value === 'number') return plainNumber(value, String(value))
  return typeof value === 'string' ? value : value === null || value === undefined ? '' : JSON.stringify(value)
}

type Scalar = 'string' | 'number' | 'boolean'
type Kind = Scalar | 'array' | 'object'

/** The kinds of value that a schema names; a schema that names none takes text. References are looked up one step deep. */
function kindsOf(schema: DataSchema): readonly Scalar[] {
  return namedKinds(schema).scalars
}

function kindOf(schema: DataSchema): Kind {
  return namedKinds(schema).first
}

interface NamedKinds {
  readonly first: Kind
  readonly scalars: readonly Scalar[]
}

/** Looked up once per schema, which is immutable: a call asks several times for each of its parameters. */
const KINDS = new WeakMap<Exclude<DataSchema, boolean>, NamedKinds>()
const TEXT: NamedKinds = { first: 'string', scalars: ['string'] }

function namedKinds(schema: DataSchema): NamedKinds {
  if (typeof schema === 'boolean') return TEXT
  const known = KINDS.get(schema)
  if (known) return known
  const kinds = allKinds(schema, schema, 0)
  const scalars = kinds.filter((kind) => kind !== 'array' && kind !== 'object')
  const named = { first: kinds[0] ?? TEXT.first, scalars: scalars.length > 0 ? scalars : TEXT.scalars }
  KINDS.set(schema, named)
  return named
}

function allKinds(schema: DataSchema, root: DataSchema, depth: number): Kind[] {
  if (typeof schema === 'boolean' || depth > 8) return []
  const { type, enum: values, const: only, $ref } = schema
  const types = Array.isArray(type) ? type : [type]
  const named = types.flatMap((one) => (one === 'integer' ? 'number' : isKind(one) ? one : []))
  if (named.length > 0) return [...new Set(named)]
  if (typeof $ref === 'string') return allKinds(referenced($ref, root), root, depth + 1)
  const samples = Array.isArray(values) ? values : only === undefined ? [] : [only]
  const sampled = samples.map((value): unknown => typeof value).filter(isKind)
  if (sampled.length > 0) return [...new Set(sampled)]
  const parts = ['anyOf', 'oneOf', 'allOf'].flatMap((word) => (Array.isArray(schema[word]) ? schema[word] : []))
  return [...new Set(parts.flatMap((part) => allKinds(asSchema(part), root, depth + 1)))]
}

function isKind(value: unknown): value is Kind {
  return value === 'string' || value === 'number' || value === 'boolean' || value === 'array' || value === 'object'
}

function itemsOf(schema: DataSchema): DataSchema {
  return typeof schema === 'boolean' ? true : asSchema(schema['items'])
}

function membersOf(schema: DataSchema): Readonly<Record<string, DataSchema>> {
  const properties = typeof schema === 'boolean' ? null : schema['properties']
  return isJson(properties) ? (properties as Record<string, DataSchema>) : {}
}

function referenced(ref: string, root: DataSchema): DataSchema {
  const name = /^#\/\$defs\/([^/]+)$/.exec(ref)?.[1]
  const defs = typeof root === 'boolean' ? null : root['$defs']
  return name !== undefined && isJson(defs) && Object.hasOwn(defs, name) ? asSchema(defs[name]) : true
}

function asSchema(value: unknown): DataSchema {
  return isJson(value) ? value : true
}
