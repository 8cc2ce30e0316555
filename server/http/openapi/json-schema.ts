import {
  Kind,
  type Static,
  type TObject,
  type TOptional,
  type TProperties,
  type TSchema,
  type TUnsafe,
  Type,
  TypeRegistry,
} from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { parseInstant } from '../../core/accounts/instant'
import { fromUsdNumber } from '../../core/money'
import { isPlainLine, isPlainText, PLAIN_LINE_RULE } from '../../core/plain-text'
import { isTimeZone } from '../../core/usage/calendar'

/** A JSON Schema (2020-12), as OpenAPI 3.1 uses it. */
export type JsonSchema = Readonly<Record<string, unknown>>

/** A schema's own check, for what JSON Schema cannot express. Returns the rule that a value violates, or null. */
const CHECK: unique symbol = Symbol('check')
/** A schema's rule in words, instead of the rule derived from its keywords. */
const RULE: unique symbol = Symbol('rule')
/** A value of a schema, for the examples of responses. */
export const EXAMPLE: unique symbol = Symbol('example')
const CHECKED = 'Checked'
/** Maximum length of the path of a nested property in an error. */
const MAX_POINTER = 100
/** Maximum length of a text in a request body that has no maximum of its own: as long as a URL. */
const MAX_TEXT = 8192

interface TChecked<T> extends TSchema {
  [Kind]: typeof CHECKED
  static: T
  [CHECK]: (value: unknown) => string | null
}

interface TList<T extends TSchema> extends TSchema {
  [Kind]: 'Array'
  static: readonly Static<T, this['params']>[]
}

type Members<P extends TProperties, O extends keyof P> = {
  readonly [K in keyof P]: K extends O ? TOptional<P[K]> : P[K]
}

TypeRegistry.Set<TChecked<unknown>>(CHECKED, (schema, value) => schema[CHECK](value) === null)

/** An object whose properties are all required, except those in `optional`. */
export function record<P extends TProperties, O extends keyof P & string = never>(
  description: string,
  members: P,
  optional: readonly O[] = [],
): TObject<Members<P, O>> {
  const isOptional = (name: string) => optional.some((one) => one === name)
  const properties = Object.entries(members).map(([name, schema]) => [
    name,
    isOptional(name) ? Type.Optional(schema) : schema,
  ])
  // The loop loses the types of the properties; the signature restores them.
  return Type.Object(Object.fromEntries(properties), { description }) as unknown as TObject<Members<P, O>>
}

/**
 * The same for a request body, which can have no other properties. Each text of it has a maximum length; a list without a maximum throws. So no
 * caller chooses how long a check of one property takes.
 */
export function form<P extends TProperties, O extends keyof P & string = never>(
  description: string,
  members: P,
  optional: readonly O[] = [],
): TObject<Members<P, O>> {
  const bounded = Object.fromEntries(Object.entries(members).map(([name, member]) => [name, withBounds(member)]))
  // The loop loses the types of the properties.
  return { ...record(description, bounded as P, optional), additionalProperties: false }
}

function withBounds<T extends TSchema>(schema: T): T {
  const types = [schema['type']].flat()
  if (types.includes('array')) {
    if (schema['maxItems'] === undefined) throw new Error(`A list has no maxItems: ${schema.description}`)
    return { ...schema, items: withBounds(schema['items']) }
  }
  if (!types.includes('string') || schema['enum'] !== undefined || schema['maxLength'] !== undefined) return schema
  const check: unknown = Reflect.get(schema, CHECK)
  if (typeof check !== 'function') return { ...schema, maxLength: MAX_TEXT }
  const isLong = (value: unknown) => typeof value === 'string' && value.length > MAX_TEXT
  const rule = `must be text of at most ${MAX_TEXT} characters`
  return { ...schema, maxLength: MAX_TEXT, [CHECK]: (value: unknown) => (isLong(value) ? rule : check(value)) }
}

/** A form whose properties are all optional. */
export function partialForm<P extends TProperties>(description: string, members: P): TObject<Members<P, keyof P>> {
  // `Object.keys` loses that every name is a property of `members`.
  return form(description, members, Object.keys(members)) as unknown as TObject<Members<P, keyof P>>
}

/** Puts a schema into `components.schemas` under a name; the documents refer to it wherever it is used. */
export function named<T extends TSchema>(name: string, schema: T): T {
  return { ...schema, $id: name }
}

/** The same schema with its rule in words, which complete a sentence that starts with the property's name. */
export function withRule<T extends TSchema>(rule: string, schema: T): T {
  return { ...schema, [RULE]: rule }
}

/** A value checked by a function, which returns the rule that the value violates, or null. `schema` is for the documentation. */
export function checked<T>(schema: JsonSchema, check: (value: unknown) => string | null): TChecked<T> {
  // `static` and `params` exist in types only.
  return { ...schema, [Kind]: CHECKED, [CHECK]: check, [RULE]: undefined } as unknown as TChecked<T>
}

/** Documents a value that the gateway neither creates nor reads, such as a vendor's body. */
export function opaque<T = unknown>(schema: JsonSchema): TUnsafe<T> {
  return Type.Unsafe<T>(schema)
}

/** An object with any properties, such as a vendor's request body. */
export function anyObject(description: string): TChecked<object> {
  return checked({ type: 'object', additionalProperties: true, description }, (value) =>
    typeof value === 'object' && value !== null && !Array.isArray(value) ? null : 'must be an object',
  )
}

export function listOf<T extends TSchema>(items: T, description: string, more: JsonSchema = {}): TList<T> {
  // TypeBox's own type is a mutable array.
  return Type.Array(items, { description, ...more }) as unknown as TList<T>
}

export function text(description: string, more: JsonSchema = {}) {
  return Type.String({ description, ...more })
}

/** The same schema with a value for the examples of responses. */
export function withExample<T extends TSchema>(example: Static<T>, schema: T): T {
  return { ...schema, [EXAMPLE]: example }
}

/** An id of the gateway, which begins with the name of its kind. */
export function identifier(kind: string, description: string) {
  return withExample(`${kind}_01a1fdfa942070018c603d2632ddc21b`, text(description))
}

/** A line of text from a person, without control characters. Its length is in characters, after trimming. */
export function line(description: string, max: number, min = 1): TChecked<string> {
  return written(description, { min, max, isPlain: isPlainLine })
}

/** The same with several lines. */
export function prose(description: string, max: number, min = 1): TChecked<string> {
  return written(description, { min, max, isPlain: isPlainText })
}

function written(
  description: string,
  { min, max, isPlain }: { min: number; max: number; isPlain: (text: string) => boolean },
): TChecked<string> {
  const schema = { type: 'string', description, minLength: min, maxLength: max, ...(min > 0 && { pattern: '\\S' }) }
  return checked(schema, (value) => {
    const trimmed = typeof value === 'string' ? value.trim() : ''
    const length = [...trimmed].length
    if (length >= min && length <= max && isPlain(trimmed)) return null
    return `must be text of ${min} to ${max} characters, ${PLAIN_LINE_RULE}`
  })
}

export function oneOf<const V extends string>(values: readonly V[], description: string): TChecked<V> {
  const rule = `must be one of ${values.join(', ')}`
  return checked({ type: 'string', description, enum: values }, (value) =>
    values.some((one) => one === value) ? null : rule,
  )
}

export function whole(description: string, bounds: { readonly minimum?: number; readonly maximum?: number } = {}) {
  const { minimum, maximum } = bounds
  const rule =
    maximum !== undefined
      ? `must be an integer from ${minimum ?? 0} to ${maximum}`
      : minimum === undefined
        ? 'must be an integer'
        : minimum === 1
          ? 'must be a positive integer'
          : `must be an integer of at least ${minimum}`
  return checked<number>({ type: 'integer', description, ...bounds }, (value) => {
    const number = Number.isSafeInteger(value) ? Number(value) : Number.NaN
    return number >= (minimum ?? Number.NEGATIVE_INFINITY) && number <= (maximum ?? number) ? null : rule
  })
}

/** Money on the wire: whole millionths of a US dollar. */
export function microsUsd(description: string, bounds: { readonly minimum?: number } = {}) {
  return whole(`${description} In millionths of a US dollar.`, bounds)
}

const USD = { min: 0.000001, max: 1_000_000 }

/** An amount of US dollars that an owner sets. */
export function usd(description: string): TChecked<number> {
  const schema = { type: 'number', description, minimum: USD.min, maximum: USD.max }
  return checked(schema, (value) =>
    typeof value === 'number' && value <= USD.max && fromUsdNumber(value)
      ? null
      : `must be USD from 0.000001 to ${USD.max} with at most 6 decimals`,
  )
}

export function yesOrNo(description: string) {
  return Type.Boolean({ description })
}

/** A time zone by its IANA name. */
export function timeZone(description: string): TChecked<string> {
  return checked({ type: 'string', description }, (value) =>
    typeof value === 'string' && isTimeZone(value) ? null : 'must be an IANA time zone such as Europe/Berlin',
  )
}

export function instant(description: string): TChecked<string> {
  return checked({ type: 'string', format: 'date-time', description }, (value) =>
    typeof value === 'string' && parseInstant(value) !== null ? null : 'must be an RFC 3339 time',
  )
}

/** The same, or null, which means `meaning`. */
export function orNull<T extends TSchema>(schema: T, meaning?: string): TChecked<Static<T> | null> {
  const { type, anyOf } = schema
  const isNamed = schema.$id !== undefined || anyOf !== undefined
  const shown = isNamed
    ? { anyOf: [schema, { type: 'null' }] }
    : { ...schema, type: [type, 'null'], ...(Array.isArray(schema['enum']) && { enum: [...schema['enum'], null] }) }
  const none = meaning === undefined ? 'null' : `null (${meaning})`
  return checked(shown, (value) => {
    const broken = value === null ? null : violation(schema, value)
    return broken && (broken.pointer === '' ? `${broken.rule}, or ${none}` : worded(broken))
  })
}

/** The cursor at the end of every page of a list. */
export function nextCursor() {
  return orNull(text('Send it as `cursor` to get the next page; null on the last page.'))
}

/** A schema of `components.schemas`. */
export function ref(name: string) {
  return opaque({ $ref: `#/components/schemas/${name}` })
}

/** A rule that a value violates; `pointer`: the nested property that does, such as `a.0`, or empty. */
interface Violation {
  readonly pointer: string
  readonly rule: string
}

/** The rule that a value violates, in words that complete a sentence that starts with its name; null if it violates none. */
export function brokenRule(schema: TSchema, value: unknown): string | null {
  const broken = violation(schema, value)
  return broken && worded(broken)
}

function worded({ pointer, rule }: Violation): string {
  return pointer === '' ? rule : `${pointer} ${rule}`
}

function violation(schema: TSchema, value: unknown): Violation | null {
  const error = Value.Errors(schema, value).First()
  if (!error) return null
  const own: unknown = Reflect.get(schema, RULE)
  if (typeof own === 'string') return { pointer: '', rule: own }
  const pointer = error.path.slice(1, MAX_POINTER).replaceAll('/', '.').replaceAll('~1', '/').replaceAll('~0', '~')
  return { pointer, rule: ruleOf(error) }
}

function ruleOf({ type, schema, value }: ValueError): string {
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'is not a known property'
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is required'
  const own: unknown = Reflect.get(schema, RULE)
  if (typeof own === 'string') return own
  const check: unknown = Reflect.get(schema, CHECK)
  if (typeof check === 'function') return String(check(value))
  const { minLength = 0, maxLength, minItems = 0, maxItems } = schema
  switch (schema[Kind]) {
    case 'String':
      if (maxLength === undefined) return 'must be text'
      return `must be text of ${minLength === 0 ? 'at most' : `${minLength} to`} ${maxLength} characters`
    case 'Boolean':
      return 'must be true or false'
    case 'Array':
      return maxItems === undefined ? 'must be a list' : `must be a list of ${minItems} to ${maxItems} entries`
    default:
      return 'must be an object'
  }
}
