import { err, ok, type Result } from '../result'

interface Common {
  readonly in: 'query' | 'header'
  readonly description: string
  readonly required?: true
  /** An example for the documentation. Needed where neither the default nor the first allowed value is a good one. */
  readonly example?: string | number | boolean | readonly string[]
}
export interface TextRule extends Common {
  readonly kind: 'text'
  readonly min: number
  readonly max: number
  /** The maximum number of words, separated by Unicode white space (spec D5). */
  readonly maxWords?: number
  readonly pattern?: { readonly source: RegExp; readonly rule: string }
  /** Returns the broken rule in words, or null. For rules that no pattern can express, such as a real date. */
  readonly check?: (value: string) => string | null
  readonly default?: string
  /** An empty value means the default. Otherwise an empty value is an error (spec D2). */
  readonly emptyIsDefault?: true
  readonly lowerCase?: true
}
export interface IntegerRule extends Common {
  readonly kind: 'integer'
  readonly min: number
  readonly max: number
  readonly default?: number
}
export interface NumberRule extends Common {
  readonly kind: 'number'
  readonly min: number
  readonly max: number
}
export interface BooleanRule extends Common {
  readonly kind: 'boolean'
  readonly default?: boolean
}
export interface EnumRule<V extends string = string> extends Common {
  readonly kind: 'enum'
  readonly values: readonly V[]
  readonly default?: V
  /** Accepts any letter case. The parsed value has the spelling in `values`. */
  readonly anyCase?: true
}
export interface ListRule extends Common {
  readonly kind: 'list'
  readonly maxEntries: number
  /** Of an entry. */
  readonly maxLength: number
  /** Returns the broken rule in words, or null. */
  readonly check?: (entries: readonly string[]) => string | null
}
export type ParameterRule = TextRule | IntegerRule | NumberRule | BooleanRule | EnumRule | ListRule

/**
 * An operation's parameters by wire name. Validation, documentation and the MCP schema are generated from it. Not a TypeBox schema,
 * because core imports no package and the rules in words, defaults and letter case have no place in one.
 */
export type ParameterTable = Readonly<Record<string, ParameterRule>>

type ValueOf<R> = R extends { kind: 'integer' | 'number' }
  ? number
  : R extends { kind: 'boolean' }
    ? boolean
    : R extends { kind: 'list' }
      ? readonly string[]
      : R extends { kind: 'enum'; values: readonly (infer V)[] }
        ? V
        : string
type Always<R> = R extends { required: true } ? true : R extends { default: unknown } ? true : false

/** The parsed values of a table. Required parameters and those with a default are always present. */
export type Parameters<T extends ParameterTable> = {
  readonly [K in keyof T as Always<T[K]> extends true ? K : never]: ValueOf<T[K]>
} & {
  readonly [K in keyof T as Always<T[K]> extends true ? never : K]?: ValueOf<T[K]>
}

/** Unvalidated input. With `body` set, as for a POST, parameters come from the body instead of the query. */
export interface RawInput {
  query(name: string): readonly string[]
  header(name: string): string | null
  readonly body?: Readonly<Record<string, unknown>> | undefined
}

/** An invalid parameter: its name, the broken rule, and the received value (spec D2). */
export interface ParameterError {
  readonly param: string
  readonly in: 'query' | 'header' | 'body'
  readonly code: 'missing_parameter' | 'invalid_parameter'
  readonly rule: string
  readonly received: string | null
}

/** Validates all input and lists every error at once. Ignores unknown query names, but refuses unknown body members. */
export function parseParameters<T extends ParameterTable>(
  table: T,
  raw: RawInput,
): Result<Parameters<T>, readonly ParameterError[]> {
  const errors: ParameterError[] = []
  const values: Record<string, unknown> = {}
  for (const name in table) {
    const rule: ParameterRule = table[name] as T[string] // `name` is one of its own names
    const value = parseReceived(rule, name, raw)
    if (value instanceof BrokenRule) errors.push({ param: name, in: locationOf(rule, raw), ...value })
    else if (value !== undefined) values[name] = value
  }
  for (const member of raw.body ? Object.keys(raw.body) : [])
    if (!Object.hasOwn(table, member) || table[member]?.in === 'header')
      errors.push({
        param: receivedText(member),
        in: 'body',
        code: 'invalid_parameter',
        rule: 'is not a known property',
        received: null,
      })
  return errors.length > 0 ? err(errors) : ok(values as Parameters<T>)
}

/** Counts words separated by Unicode `White_Space`, which differs from what `\s` and `trim` match. */
export function countWords(text: string): number {
  return text.split(/\p{White_Space}+/u).filter(Boolean).length
}

const NOT_BLANK = /\P{White_Space}/u

function isBlank(text: string): boolean {
  return !NOT_BLANK.test(text)
}

/** The rule that one member of a JSON body breaks, or null. */
export function brokenBodyRule(rule: ParameterRule, value: unknown): string | null {
  const parsed = parseOne(rule, value, false)
  return parsed instanceof BrokenRule ? parsed.rule : null
}

/** Why a value is invalid. */
class BrokenRule implements Pick<ParameterError, 'code' | 'rule' | 'received'> {
  readonly code: ParameterError['code']
  readonly rule: string
  readonly received: string | null

  constructor(code: ParameterError['code'], rule: string, received: string | null) {
    this.code = code
    this.rule = rule
    this.received = received
  }
}

function locationOf(rule: ParameterRule, raw: RawInput): ParameterError['in'] {
  return rule.in === 'header' ? 'header' : raw.body ? 'body' : 'query'
}

/** The value of a parameter, its default if it was not sent, undefined if it has none, or the rule that it breaks. */
function parseReceived(rule: ParameterRule, name: string, raw: RawInput): unknown {
  if (rule.in === 'header') {
    const value = raw.header(name)
    return value === null ? notSent(rule) : parseText(rule, value.trim())
  }
  if (raw.body) return Object.hasOwn(raw.body, name) ? parseOne(rule, raw.body[name], false) : notSent(rule)
  const values = raw.query(name)
  const [value] = values
  if (value === undefined) return notSent(rule)
  if (rule.kind === 'list') return parseList(rule, values, '')
  return values.length > 1
    ? refuse('must be given once', values.map(receivedText).join(', '))
    : parseOne(rule, value, true)
}

function parseText(rule: ParameterRule, text: string): unknown {
  return rule.kind === 'list' ? parseList(rule, [text], '') : parseOne(rule, text, true)
}

function notSent(rule: ParameterRule): unknown {
  return rule.required ? new BrokenRule('missing_parameter', 'is required', null) : defaultOf(rule)
}

function defaultOf(rule: ParameterRule): unknown {
  return 'default' in rule ? rule.default : undefined
}

/** `isText`: it came as text, not as JSON. */
function parseOne(rule: ParameterRule, value: unknown, isText: boolean): unknown {
  if (rule.kind === 'list') return parseList(rule, Array.isArray(value) ? value : [value], value)
  if (value === '')
    return rule.kind === 'text' && rule.emptyIsDefault ? defaultOf(rule) : refuse('must not be empty', '')
  const typed = isText ? fromText(rule, String(value)) : fromJson(rule, value)
  if (typed === undefined) return refuse(describeRule(rule), receivedText(value))
  const broken = brokenRule(rule, typed)
  return broken === null ? canonical(rule, typed) : refuse(broken, receivedText(value))
}

/** `shown`: the value that the refusal of an invalid entry repeats. */
function parseList(rule: ListRule, list: readonly unknown[], shown: unknown): readonly string[] | BrokenRule {
  const strings = list.filter((entry): entry is string => typeof entry === 'string' && !isBlank(entry))
  if (strings.length !== list.length || strings.some(({ length }) => length > rule.maxLength))
    return refuse(describeRule(rule), receivedText(shown))
  if (strings.length > rule.maxEntries) return refuse(describeRule(rule), `${strings.length} entries`)
  const broken = rule.check?.(strings) ?? null
  return broken === null ? strings : refuse(broken, receivedText(strings.length === 1 ? strings[0] : strings))
}

function fromText(rule: ParameterRule, text: string): string | number | boolean | undefined {
  if (rule.kind === 'integer') return /^-?\d{1,15}$/.test(text) ? Number(text) : undefined
  if (rule.kind === 'number') return /^[+-]?(\d{1,15}(\.\d{0,15})?|\.\d{1,15})$/.test(text) ? Number(text) : undefined
  if (rule.kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : undefined
  return text
}

function fromJson(rule: ParameterRule, value: unknown): string | number | boolean | undefined {
  if (rule.kind === 'integer') return Number.isSafeInteger(value) ? (value as number) : undefined
  if (rule.kind === 'number') return typeof value === 'number' ? value : undefined
  if (rule.kind === 'boolean') return typeof value === 'boolean' ? value : undefined
  return typeof value === 'string' ? value : undefined
}

function brokenRule(rule: ParameterRule, value: string | number | boolean): string | null {
  if (rule.kind === 'integer' || rule.kind === 'number') {
    const n = Number(value)
    return n >= rule.min && n <= rule.max ? null : describeRule(rule)
  }
  const text = String(value)
  if (rule.kind === 'enum') return spelled(rule, text) === undefined ? describeRule(rule) : null
  if (rule.kind !== 'text') return null
  const length = codePoints(text)
  if (isBlank(text)) return 'must not be empty'
  if (length < rule.min || length > rule.max) return `${describeRule(rule)}; it has ${length} characters`
  const words = rule.maxWords === undefined ? 0 : countWords(text)
  if (rule.maxWords !== undefined && words > rule.maxWords) return `${describeRule(rule)}; it has ${words} words`
  if (rule.pattern && !rule.pattern.source.test(text)) return rule.pattern.rule
  return rule.check?.(text) ?? null
}

function canonical(rule: ParameterRule, value: string | number | boolean): unknown {
  if (rule.kind === 'enum') return spelled(rule, String(value))
  if (rule.kind === 'text' && rule.lowerCase) return String(value).toLowerCase()
  return value
}

/** The values of each enum by their compared form, built once. */
const SPELLINGS = new WeakMap<EnumRule, ReadonlyMap<string, string>>()

function spelled(rule: EnumRule, text: string): string | undefined {
  const spellings = SPELLINGS.get(rule) ?? spellingsOf(rule)
  return spellings.get(rule.anyCase ? text.toLowerCase() : text)
}

function spellingsOf(rule: EnumRule): ReadonlyMap<string, string> {
  const spellings = new Map(rule.values.map((value) => [rule.anyCase ? value.toLowerCase() : value, value]))
  SPELLINGS.set(rule, spellings)
  return spellings
}

/** The rule in words, for errors and documentation. */
export function describeRule(rule: ParameterRule): string {
  switch (rule.kind) {
    case 'integer':
      return `must be an integer from ${rule.min} to ${rule.max}`
    case 'number':
      return `must be a number from ${rule.min} to ${rule.max}`
    case 'boolean':
      return 'must be true or false'
    case 'enum':
      return `must be one of ${rule.values.join(' ')}`
    case 'list':
      return `must be a string or a list of at most ${rule.maxEntries} strings, none empty or over ${rule.maxLength} characters`
    case 'text':
      return `must be text of ${rule.min} to ${rule.max} characters${rule.maxWords ? ` and at most ${rule.maxWords} words` : ''}`
  }
}

function refuse(rule: string, value: string): BrokenRule {
  return new BrokenRule('invalid_parameter', rule, value)
}

function codePoints(text: string): number {
  let length = 0
  for (let at = 0; at < text.length; at++) if (!isSecondHalf(text, at)) length++
  return length
}

/** Whether a character is the second half of a surrogate pair. */
function isSecondHalf(text: string, at: number): boolean {
  if ((text.charCodeAt(at) & 0xfc00) !== 0xdc00 || at === 0) return false
  return (text.charCodeAt(at - 1) & 0xfc00) === 0xd800
}

const MAX_SHOWN = 100

/** A received value as text for an error, truncated. */
function receivedText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value))
  return codePoints(text) > MAX_SHOWN ? `${[...text].slice(0, MAX_SHOWN).join('')}...` : text
}
