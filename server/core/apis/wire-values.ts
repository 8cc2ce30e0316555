import { partsOf as childrenOf } from '../json'
import { isValueWithin, type JsonBounds } from '../json-bounds'
import type { ApiParameter } from './api'
import { type Scalar, type ScalarKind, Shape } from './value-shape'

/** A parameter of a call, or a field of a form, which is written as a query is. */
export interface Written extends Pick<ApiParameter, 'name' | 'schema' | 'style' | 'explode'> {
  readonly in: ApiParameter['in'] | 'form'
}

/** A name and a text, not encoded; and the text as written in a URL, where that is not its plain encoding. */
export type WirePair = readonly [name: string, text: string, encoded?: string]

/**
 * A parameter of a call: its value to validate, and the texts that are sent, by the parameter's style. The texts are made from the value's
 * own parts. Without a problem there is at least one pair, and a reader who knows the style gets the value.
 */
export interface WireValue {
  readonly value: unknown
  /** For a path or header parameter one pair. */
  readonly pairs: readonly WirePair[]
  /** Why it cannot be read, or cannot be written so that it is read as it was validated. */
  readonly problem?: string
}

type Validate = (value: unknown) => string | null

/** The texts that a caller sent, by name. */
export type SentTexts = ReadonlyMap<string, readonly string[]>

/** The texts of a value: of a scalar, of a list, or of an object's members. Numbers keep digits that a double cannot hold. */
type Texts = string | null | readonly Texts[] | ReadonlyMap<string, Texts>

interface Reading {
  readonly value: unknown
  readonly texts: Texts
  readonly problem?: string
}

const EMPTY = 'must not be empty: its style cannot write an empty list or object'
const NULL = 'must not be null: leave it out'
const NESTED = 'must not have lists or objects in its parts: its style cannot write them'
const ONCE = 'must be sent once'
const MAX_BRACKETS = 10
/** Of JSON in a parameter or a form field. */
const JSON_BOUNDS: JsonBounds = { depth: 100, parts: 10_000 }

/** The styles of each location (OpenAPI 3.x); `json` is a parameter with `content` of JSON. Callers send `label` and `matrix` as `simple`. */
export const STYLES = {
  path: ['simple', 'label', 'matrix', 'json'],
  header: ['simple', 'json'],
  query: ['form', 'deepObject', 'spaceDelimited', 'pipeDelimited', 'json'],
} as const satisfies Record<ApiParameter['in'], readonly ApiParameter['style'][]>

/**
 * Reads a parameter from the texts that a caller sent, by its style; undefined if it was not sent. Where a schema allows several kinds of
 * value, the first that is valid is taken.
 */
export function readParameter(parameter: Written, sent: SentTexts, validate: Validate): WireValue | undefined {
  const scalar = onlyScalar(parameter)
  if (scalar) {
    const texts = sent.get(parameter.name)
    const text = texts?.[0]
    if (text === undefined) return undefined
    if (texts?.length === 1) {
      const value = scalarIn(text, scalar.kind, scalar.values)
      const shown = typeof value === 'number' ? plainNumber(value, text) : text
      return { value: value ?? text, pairs: [onePair(parameter, shown)] }
    }
  }
  return readAnyKind(parameter, sent, validate)
}

function readAnyKind(parameter: Written, sent: SentTexts, validate: Validate): WireValue | undefined {
  const read = readings(parameter, Shape.of(parameter.schema), sent)
  const [first] = read
  if (!first) return undefined
  const valid = read.length === 1 ? first : read.find((one) => !one.problem && validate(one.value) === null)
  return written(parameter, valid ?? first)
}

const SCALARS = new WeakMap<Written, Scalar | null>()

/** The scalar of a parameter that can be nothing else and has no form but its text, which is most of them. Looked up once. */
function onlyScalar(parameter: Written): Scalar | null {
  const known = SCALARS.get(parameter)
  if (known !== undefined) return known
  const { kinds, scalars } = Shape.of(parameter.schema)
  const [scalar] = scalars
  const isPlain = parameter.style === 'form' || parameter.style === 'simple'
  const only = isPlain && kinds.size === 1 && scalars.length === 1 && scalar ? scalar : null
  SCALARS.set(parameter, only)
  return only
}

/** The texts of a value that was given as JSON, as in a tool call. */
export function writeParameter(parameter: Written, value: unknown): WireValue {
  return written(parameter, { value, texts: textsOf(parameter, value, 0) })
}

/** Whether a name of a query or form is one that the parameter is sent by. */
export function claimsName(parameter: Written, name: string): boolean {
  if (parameter.in !== 'query' && parameter.in !== 'form') return false
  if (isSpread(parameter) && Shape.of(parameter.schema).isMember(name)) return true
  if (name === parameter.name) return !isSpread(parameter) || !isObjectOnly(parameter)
  return parameter.style === 'deepObject' && bracketsAfter(parameter.name, name) !== null
}

/** The names that a query parameter is sent by, without those in brackets. */
export function plainNames(parameter: ApiParameter): readonly string[] {
  if (!isSpread(parameter)) return [parameter.name]
  const { members } = Shape.of(parameter.schema)
  return isObjectOnly(parameter) ? members : [parameter.name, ...members]
}

/** Why no value of a parameter can be written by its style, or null. */
export function unwritable(parameter: ApiParameter): string | null {
  const { style, in: location } = parameter
  const known: readonly string[] = STYLES[location]
  if (!known.includes(style)) return `has the style ${style}, which is not for a ${location}`
  if (style === 'json' || style === 'deepObject' || isPlainlyScalar(parameter)) return null
  const shape = Shape.of(parameter.schema)
  if (!shape.isNested) return null
  if (shape.has('array') && !shape.items.isNested) return null
  if (shape.has('object') && !isTorn(parameter) && hasWritableMember(parameter, shape)) return null
  return `is a list or an object that the style ${style} cannot write`
}

/** The declared members of an object that its style cannot write: a call that sends one is refused. */
export function unwritableMembers(parameter: ApiParameter): readonly string[] {
  const { style, schema } = parameter
  if (style === 'json' || style === 'deepObject' || isPlainlyScalar(parameter)) return []
  const shape = Shape.of(schema)
  return shape.members.filter((name) => !isWritableMember(parameter, shape.member(name)))
}

/** An import looks at thousands of parameters, most of which are this. */
function isPlainlyScalar({ schema }: Written): boolean {
  const type = typeof schema === 'object' ? schema['type'] : undefined
  return type === 'string' || type === 'integer' || type === 'number' || type === 'boolean'
}

function hasWritableMember(parameter: Written, shape: Shape): boolean {
  const { members } = shape
  if (members.length === 0) return !isSpread(parameter)
  return members.some((name) => isWritableMember(parameter, shape.member(name)))
}

function isWritableMember(parameter: Written, member: Shape): boolean {
  return !member.isNested || (isSpread(parameter) && member.has('array') && !member.items.isNested)
}

/** Whether members of an object are sent under their own names. */
function isSpread({ schema, style, explode, in: location }: Written): boolean {
  return location === 'query' && style === 'form' && explode && Shape.of(schema).has('object')
}

/** Whether it is an object in a style that OpenAPI does not define for objects. */
function isTorn({ style, explode }: Written): boolean {
  return explode && (style === 'spaceDelimited' || style === 'pipeDelimited')
}

function isObjectOnly({ schema }: Written): boolean {
  return Shape.of(schema).kinds.size === 1
}

/** Whether each element of a list is sent as a pair of its own. */
function isRepeated({ style, explode, in: location }: Written): boolean {
  return explode && style !== 'deepObject' && style !== 'json' && (location === 'query' || location === 'form')
}

/** All ways to read what was sent; empty if nothing was. */
function readings(parameter: Written, shape: Shape, sent: SentTexts): readonly Reading[] {
  const { name, style } = parameter
  if (style === 'deepObject') {
    const tree = treeOf(name, sent)
    return tree ? [treeReading(tree, shape)] : []
  }
  const texts = sent.get(name)
  if (isSpread(parameter)) {
    const members = shape.members.filter((member) => sent.has(member))
    if (members.length > 0 && texts && !members.includes(name)) return [unread(texts, 'is sent by two names')]
    if (members.length > 0) return [spreadReading(members, shape, sent)]
    if (isObjectOnly(parameter)) return []
  }
  const [text] = texts ?? []
  if (!texts || text === undefined) return []
  if (style === 'json') return [texts.length > 1 ? unread(texts, ONCE) : jsonReading(text)]
  if (texts.length > 1) {
    // A list that its style writes in one text may be sent by repeating its name, which goes up in one text.
    if (!shape.has('array') && !(shape.isAny && isRepeated(parameter))) return [unread(texts, ONCE)]
    return [listReading(parameter, texts, shape.items)]
  }
  return textReadings(parameter, text, shape)
}

/** All ways to read one text. */
function textReadings(parameter: Written, text: string, shape: Shape): readonly Reading[] {
  const found: Reading[] = []
  for (const { kind, values } of shape.scalars) {
    const read = scalarReading(text, kind, values)
    if (read) found.push(read)
  }
  if (shape.has('array')) {
    const parts = isRepeated(parameter) ? [text] : partsOf(parameter, text)
    const list = listReading(parameter, parts, shape.items)
    // A text that may be a list is one, if it has more than one part.
    if (parts.length > 1) found.unshift(list)
    else found.push(list)
  }
  if (shape.has('object'))
    found.push(parameter.in === 'form' ? jsonReading(text) : namedReading(parameter, text, shape))
  return found.length > 0 ? found : [{ value: text, texts: text }]
}

function unread(value: unknown, problem: string): Reading {
  return { value, texts: null, problem }
}

/** A text as the value that its schema wants: a number, a boolean, or the text itself. */
function leafReading(text: string, { scalars }: Shape): Reading {
  for (const { kind, values } of scalars) {
    const read = scalarReading(text, kind, values)
    if (read) return read
  }
  return { value: text, texts: text }
}

function scalarReading(text: string, kind: ScalarKind, values: readonly unknown[] | null) {
  const value = scalarIn(text, kind, values)
  if (value === undefined) return null
  return { value, texts: typeof value === 'number' ? plainNumber(value, text) : text }
}

/** Undefined if the text is none of this kind. */
function scalarIn(text: string, kind: ScalarKind, values: readonly unknown[] | null) {
  const value = kind === 'boolean' ? booleanIn(text) : kind === 'string' ? text : numberIn(text)
  return value === undefined || (values && !values.includes(value)) ? undefined : value
}

/** The elements of a list. In a form they may be objects, as JSON. */
function listReading({ in: location }: Written, parts: readonly string[], items: Shape): Reading {
  const mayBeJson = location === 'form' && (items.has('object') || items.has('array'))
  const [value, texts]: [unknown[], Texts[]] = [[], []]
  for (const part of parts) {
    const json = mayBeJson ? jsonReading(part) : null
    const read = json && typeof json.value === 'object' && !json.problem ? json : leafReading(part, items)
    value.push(read.value)
    texts.push(read.texts)
  }
  return { value, texts }
}

function joinedReadings(parts: readonly Reading[]): Reading {
  const problem = parts.find((part) => part.problem)?.problem
  return {
    value: parts.map(({ value }) => value),
    texts: parts.map(({ texts }) => texts),
    ...(problem !== undefined && { problem }),
  }
}

function membersReading(members: readonly (readonly [string, Reading])[]): Reading {
  const problem = members.find(([, member]) => member.problem)?.[1].problem
  return {
    value: Object.fromEntries(members.map(([name, { value }]) => [name, value])),
    texts: new Map(members.map(([name, { texts }]) => [name, texts])),
    ...(problem !== undefined && { problem }),
  }
}

function jsonReading(text: string): Reading {
  try {
    const value: unknown = JSON.parse(text)
    if (!isValueWithin(value, JSON_BOUNDS)) return unread(text, 'is nested too deeply, or has too many parts')
    if (overflows(text, value)) return unread(value, 'has a number that is too large')
    return { value, texts: rewrittenJson(text, value) }
  } catch {
    return unread(text, 'must be JSON')
  }
}

function spreadReading(members: readonly string[], shape: Shape, sent: SentTexts): Reading {
  return membersReading(members.map((name) => [name, manyReading(sent.get(name) ?? [], shape.member(name))]))
}

/** One text for a scalar, any number of texts for a list. */
function manyReading(texts: readonly string[], shape: Shape): Reading {
  const [text] = texts
  if (texts.length === 1 && text !== undefined && !(shape.isNested && shape.has('array')))
    return leafReading(text, shape)
  if (!shape.has('array') && !shape.isAny) return unread(texts, ONCE)
  return joinedReadings(texts.map((one) => leafReading(one, shape.items)))
}

/** An object in one text: `a,1,b,2`, or `a=1,b=2` if its style explodes. */
function namedReading(parameter: Written, text: string, shape: Shape): Reading {
  const parts = partsOf(parameter, text).flatMap((part) => (parameter.explode ? namedPart(part) : part))
  const members = new Map<string, Reading>()
  for (let i = 0; i < parts.length; i += 2) {
    const [name = '', value] = [parts[i], parts[i + 1]]
    if (value === undefined) return unread(text, 'must have a value for each of its members')
    if (members.has(name)) return unread(text, 'must not name a member twice')
    members.set(name, leafReading(value, shape.member(name)))
  }
  return membersReading([...members])
}

function namedPart(part: string): string[] {
  const at = part.indexOf('=')
  return at < 0 ? [part] : [part.slice(0, at), part.slice(at + 1)]
}

/** The parts of a text. A path value is the caller's, who sends every style of a path as `simple`. */
function partsOf({ style, in: location }: Written, text: string): string[] {
  const parts = text.split(style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ',')
  // Blanks around the elements of a header are no part of them (RFC 9110, 5.6.1).
  return location === 'header' ? parts.map((part) => part.trim()) : parts
}

/** Values that were sent by names such as `filter[ids][]`. */
interface Tree {
  readonly texts: string[]
  readonly children: Map<string, Tree>
}

function treeOf(name: string, sent: SentTexts): Tree | null {
  const root: Tree = { texts: [], children: new Map() }
  for (const [one, texts] of sent) {
    const path = one === name ? [] : bracketsAfter(name, one)
    if (!path) continue
    let at = root
    for (const key of path) {
      const next = at.children.get(key) ?? { texts: [], children: new Map() }
      at.children.set(key, next)
      at = next
    }
    at.texts.push(...texts)
  }
  return root.texts.length + root.children.size > 0 ? root : null
}

/** `['ids', '']` of `filter[ids][]`; null for other names. */
function bracketsAfter(name: string, sent: string): string[] | null {
  if (!sent.startsWith(`${name}[`) || !/^(?:\[[^[\]]*\])+$/.test(sent.slice(name.length))) return null
  const path = sent.slice(name.length + 1, -1).split('][')
  return path.length <= MAX_BRACKETS ? path : null
}

function treeReading({ texts, children }: Tree, shape: Shape): Reading {
  if (children.size === 0) return wholeReading(texts, shape) ?? manyReading(texts, shape)
  if (texts.length > 0) return unread(texts, 'must not be sent both whole and by its members')
  const unnamed = children.get('')
  const mayBeList = shape.has('array') || shape.isAny
  if (unnamed) {
    // `items[][price]` does not say where an element ends.
    if (!mayBeList || children.size > 1 || unnamed.children.size > 0)
      return unread({}, 'must have a name or a number in each pair of brackets')
    return joinedReadings(unnamed.texts.map((text) => leafReading(text, shape.items)))
  }
  const list = mayBeList ? numbered(children) : null
  if (list) return joinedReadings(list.map((child) => treeReading(child, shape.items)))
  if (!shape.has('object') && !shape.isAny) return unread({}, 'must be a list, numbered from 0 without gaps')
  return membersReading([...children].map(([name, child]) => [name, treeReading(child, shape.member(name))]))
}

/** An object or list that was sent as JSON in place of its brackets, where no scalar could be meant. */
function wholeReading(texts: readonly string[], shape: Shape): Reading | null {
  // Digits that a double cannot hold would be lost.
  if (!shape.isNested || texts.some((text) => /\d{16}/.test(text))) return null
  const parts = texts.map((text) => jsonReading(text).value)
  const [value] = parts
  if (parts.some((part) => typeof part !== 'object' || part === null)) return null
  if (texts.length === 1 && shape.has(Array.isArray(value) ? 'array' : 'object')) return bracketReading(value)
  return shape.has('array') && shape.items.isNested ? bracketReading(parts) : null
}

function bracketReading(value: unknown): Reading {
  return {
    value,
    texts: textsOf({ name: '', in: 'query', schema: true, style: 'deepObject', explode: true }, value, 0),
  }
}

/** The children in order, if their names are 0, 1, 2 and so on. */
function numbered(children: ReadonlyMap<string, Tree>): Tree[] | null {
  const list = Array.from({ length: children.size }, (_, i) => children.get(String(i)))
  return list.every((child) => child !== undefined) ? list : null
}

/** The texts of a JSON value. */
function textsOf(parameter: Written, value: unknown, depth: number): Texts {
  if (parameter.style === 'json') return JSON.stringify(value)
  if (value === null || value === undefined) return null
  if (typeof value === 'number') return plainNumber(value, String(value))
  if (typeof value !== 'object') return String(value)
  const isPart = depth > 0 || !Array.isArray(value)
  if (parameter.in === 'form' && parameter.style !== 'deepObject' && isPart) return JSON.stringify(value)
  if (Array.isArray(value)) return value.map((one) => textsOf(parameter, one, depth + 1))
  return new Map(Object.entries(value).map(([name, one]) => [name, textsOf(parameter, one, depth + 1)]))
}

function written(parameter: Written, { value, texts, problem }: Reading): WireValue {
  const pairs = problem ?? pairsOf(parameter, texts)
  if (typeof pairs === 'string') return { value, pairs: [], problem: pairs }
  return pairs.length > 0 ? { value, pairs } : { value, pairs, problem: EMPTY }
}

/** The pairs of a value, or why there are none. */
function pairsOf(parameter: Written, texts: Texts): WirePair[] | string {
  const { name, style, explode, schema, in: location } = parameter
  if (texts === null) return NULL
  if (style === 'deepObject') return bracketPairs(name, texts, Shape.of(schema))
  if (typeof texts === 'string') {
    if (style === 'matrix' && texts.includes(';')) return 'must not contain ";"'
    const isAmbiguous = style !== 'json' && !isRepeated(parameter) && Shape.of(schema).has('array')
    return isAmbiguous && partsOf(parameter, texts).length > 1 ? 'would be read as a list' : [onePair(parameter, texts)]
  }
  const isList = Array.isArray(texts)
  if (isList && isRepeated(parameter)) return repeated(name, texts)
  if (!isList && isSpread(parameter)) return spreadPairs(texts as ReadonlyMap<string, Texts>, Shape.of(schema))
  if (!isList && (isTorn(parameter) || location === 'form')) return NESTED
  return joinedPair(
    parameter,
    isList ? [...texts] : [...(texts as ReadonlyMap<string, Texts>)].flat(),
    !isList && explode,
  )
}

function onePair({ name, style, in: location }: Written, text: string): WirePair {
  if (location === 'header') return [name, style === 'json' ? visibleJson(text) : text]
  const before = style === 'label' ? '.' : style === 'matrix' ? `;${name}=` : ''
  return before === '' ? [name, text] : [name, before + text, beforeText(style, name) + encodeURIComponent(text)]
}

function beforeText(style: Written['style'], name: string): string {
  return style === 'label' ? '.' : style === 'matrix' ? `;${encodeURIComponent(name)}=` : ''
}

function repeated(name: string, texts: readonly Texts[]): WirePair[] | string {
  const pairs: WirePair[] = []
  for (const text of texts) {
    if (typeof text !== 'string') return text === null ? NULL : NESTED
    pairs.push([name, text])
  }
  return pairs
}

function spreadPairs(members: ReadonlyMap<string, Texts>, shape: Shape): WirePair[] | string {
  const all: WirePair[] = []
  for (const [name, texts] of members) {
    if (!shape.isMember(name)) return 'has a member that is not declared'
    const pairs = repeated(name, Array.isArray(texts) ? texts : [texts])
    if (typeof pairs === 'string') return pairs
    if (pairs.length === 0) return EMPTY
    all.push(...pairs)
  }
  return all
}

/** A list, or the names and values of an object in turn, as one text. */
function joinedPair(parameter: Written, texts: readonly Texts[], isNamed: boolean): WirePair[] | string {
  const { name, style, explode, in: location } = parameter
  if (texts.length === 0) return []
  const parts: string[] = []
  for (const text of texts) {
    if (typeof text !== 'string') return text === null ? NULL : NESTED
    if (location === 'header' && (text !== text.trim() || text === ''))
      return 'must not have parts that are empty, or begin or end with a blank'
    parts.push(text)
  }
  const { between, encoded, forbidden } = delimiters(style, explode)
  for (const one of isNamed ? `${forbidden}=` : forbidden)
    if (parts.some((part) => part.includes(one))) return `must not contain "${one}" in its parts`
  const joined = (encode: (part: string) => string, delimiter: string) => {
    const label = style === 'matrix' && explode && !isNamed ? `${encode(name)}=` : ''
    const entries = isNamed ? inPairs(parts, encode) : parts.map((part) => label + encode(part))
    const before = style === 'label' ? '.' : style !== 'matrix' ? '' : explode ? ';' : `;${encode(name)}=`
    return before + entries.join(delimiter)
  }
  if (location === 'header') return [[name, joined((part) => part, between)]]
  return [[name, joined((part) => part, between), joined(encodeURIComponent, encoded)]]
}

function inPairs(parts: readonly string[], encode: (part: string) => string): string[] {
  const pairs: string[] = []
  for (let i = 0; i + 1 < parts.length; i += 2) pairs.push(`${encode(parts[i] ?? '')}=${encode(parts[i + 1] ?? '')}`)
  return pairs
}

interface Delimiters {
  readonly between: string
  /** As written in a URL. */
  readonly encoded: string
  /** Characters that no part may contain: readers decode before they split, or after. */
  readonly forbidden: string
}

const COMMA: Delimiters = { between: ',', encoded: ',', forbidden: ',' }
const BLANK: Delimiters = { between: ' ', encoded: '%20', forbidden: ' ' }
const PIPE: Delimiters = { between: '|', encoded: '%7C', forbidden: '|' }

function delimiters(style: Written['style'], explode: boolean): Delimiters {
  if (style === 'spaceDelimited') return BLANK
  if (style === 'pipeDelimited') return PIPE
  if (style === 'label') return { ...COMMA, ...(explode && { between: '.', encoded: '.' }), forbidden: '.,' }
  if (style === 'matrix') return { ...COMMA, ...(explode && { between: ';', encoded: ';' }), forbidden: ';,=' }
  return COMMA
}

/** A value by names with brackets. Lists of scalars have `[]`, lists of objects numbers. */
function bracketPairs(name: string, texts: Texts, shape: Shape): WirePair[] | string {
  if (texts === null) return NULL
  if (typeof texts === 'string') return [[name, texts]]
  const isList = Array.isArray(texts)
  const isPlain = isList && texts.every((one) => typeof one === 'string')
  const entries: (readonly [string, Texts])[] = isList
    ? texts.map((one, i) => [isPlain ? '' : String(i), one])
    : [...(texts as ReadonlyMap<string, Texts>)]
  if (entries.length === 0) return EMPTY
  if (!isList && entries.some(([key]) => key === '' || /[[\]]/.test(key)))
    return 'must not have brackets or nothing in the names of its members'
  // Readers take such names for the places of a list.
  if (!isList && (shape.has('array') || shape.isAny) && entries.every(([key]) => /^\d+$/.test(key)))
    return 'must not have only numbers as the names of its members'
  const all: WirePair[] = []
  for (const [key, inner] of entries) {
    const pairs = bracketPairs(`${name}[${key}]`, inner, isList ? shape.items : shape.member(key))
    if (typeof pairs === 'string') return pairs
    all.push(...pairs)
  }
  return all
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

/**
 * JSON written anew: a member that was sent twice goes up once, as it was validated. Numbers that a double cannot hold keep their digits.
 */
export function rewrittenJson(text: string, value: unknown): string {
  if (!/\d{16}/.test(text)) return JSON.stringify(value)
  const exact: unknown = JSON.parse(text, (_key, read: unknown, context?: { source?: string }) =>
    typeof read === 'number' && context?.source !== undefined ? rawJson(context.source) : read,
  )
  return JSON.stringify(exact)
}

/** Whether JSON holds a number such as `1e999`, which is validated as a number and would be written as null. */
export function overflows(text: string, value: unknown): boolean {
  return /[eE]\+?\d{3}|\d{300}|null/.test(text) && !isFiniteJson(value)
}

function isFiniteJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value)
  return typeof value !== 'object' || value === null || childrenOf(value).every(isFiniteJson)
}

/** A number as it was written, for `JSON.stringify`. Not in TypeScript's library yet (ES2026). */
function rawJson(source: string): unknown {
  const raw: unknown = Reflect.get(JSON, 'rawJSON')
  return typeof raw === 'function' ? raw.call(JSON, source) : Number(source)
}

/** JSON in a header: visible ASCII. */
function visibleJson(text: string): string {
  return text.replace(/[^\x20-\x7e]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
