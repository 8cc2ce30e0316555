import { type Api, type ApiBody, type ApiOperation, type ApiParameter, isJsonBody } from '../../core/apis/api'
import { type ApiMatch, isPathOf, pathParameters, plainValue, writtenPath } from '../../core/apis/api-routes'
import type { CompileSchema } from '../../core/apis/compile-schema'
import { inputNames } from '../../core/apis/input-schema'
import { maySend, sentNames } from '../../core/apis/upstream-headers'
import {
  claimsName,
  overflows,
  plainNames,
  readParameter,
  rewrittenJson,
  type SentTexts,
  type WirePair,
  type WireValue,
  writeParameter,
} from '../../core/apis/wire-values'
import type { ParameterError } from '../../core/catalog/parameters'
import { isJson } from '../../core/json'
import { err, ok, type Result } from '../../core/result'
import { Form, type FormFields, type FormFile } from './form'

export type { FormFields } from './form'

/** A request body as it was sent, parsed by its content type. */
export type SentBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown; readonly text: string }
  | { readonly kind: 'form'; readonly fields: FormFields }
  /** A form that was given as JSON. A file of a multipart form is `{"filename": ..., "content_type": ..., "base64": ...}`. */
  | { readonly kind: 'value'; readonly value: unknown }

/** A caller's input to an operation, by HTTP. */
export interface SentRequest {
  readonly query: SentTexts
  header(name: string): string | null
  readonly body: SentBody
}

/** A validated input, ready to be written into an upstream request. Holds nothing that is not declared. */
export interface ApiInput {
  /** Percent-encoded, by name. */
  readonly path: Readonly<Record<string, string>>
  readonly query: readonly WirePair[]
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly body: UpstreamBody | null
  /** The value of the integer query parameter that the price's maximum follows from. */
  numberOf(parameter: string): number
}

export type UpstreamBody =
  | { readonly kind: 'json' | 'urlencoded'; readonly contentType: string; readonly text: string }
  | { readonly kind: 'multipart'; readonly fields: FormFields }

type Read = Result<ApiInput, readonly ParameterError[]>
type Validate = (value: unknown) => string | null

/** A parameter with what is the same in every call. */
interface Declared {
  readonly parameter: ApiParameter
  readonly validate: Validate
  /** Its default, as it is sent. */
  readonly fallback: WireValue | undefined
  readonly location: ParameterError['in']
}

/** The validators of one operation. Compiled once: an operation is immutable. */
interface Validators {
  readonly parameters: readonly Declared[]
  /** Names of the query, but for those in brackets, and the parameters that are in brackets. */
  readonly names: ReadonlySet<string>
  readonly brackets: readonly ApiParameter[]
  readonly body: Validate
  readonly form: Form
  readonly headersUp: readonly string[]
  readonly inPath: readonly string[]
  /** The query parameter whose value the price's maximum follows from. */
  readonly bound: ApiParameter | undefined
  /** Its value where the caller sends none. */
  readonly numberOf: ApiInput['numberOf']
}

interface GivenParameters {
  /** Undefined if it was not given. */
  find(parameter: ApiParameter, validate: Validate): WireValue | undefined
}

class SentParameters implements GivenParameters {
  private readonly match: ApiMatch
  private readonly sent: SentRequest

  constructor(match: ApiMatch, sent: SentRequest) {
    this.match = match
    this.sent = sent
  }

  find(parameter: ApiParameter, validate: Validate): WireValue | undefined {
    const { match, sent } = this
    if (parameter.in === 'query') return readParameter(parameter, sent.query, validate)
    const text = parameter.in === 'path' ? match.values[parameter.name] : sent.header(parameter.name)
    if (text === null || text === undefined) return undefined
    return readParameter(parameter, new Map([[parameter.name, [text]]]), validate)
  }
}

/** Validates what callers send to imported operations, by their schemas. Lists all errors at once. Only declared input passes. */
export class ApiInputs {
  private readonly compileSchema: CompileSchema
  private readonly compiled = new WeakMap<ApiOperation, Validators>()

  constructor(compileSchema: CompileSchema) {
    this.compileSchema = compileSchema
  }

  /** The input of an HTTP request. */
  read(match: ApiMatch, sent: SentRequest): Read {
    const validators = this.validatorsOf(match)
    const errors: ParameterError[] = []
    for (const name of sent.query.keys())
      if (!isDeclared(validators, name))
        errors.push(wrong(plainName(name), 'query', 'is not a parameter of this operation'))
    const headers: Record<string, string> = {}
    for (const name of validators.headersUp) {
      const value = sent.header(name)
      if (value !== null && isHeaderValue(value)) headers[name] = value
    }
    return this.input(match, validators, headers, sent.body, errors, new SentParameters(match, sent))
  }

  /** The input of a tool call: parameters by name, and the body under `body`. */
  readJson(match: ApiMatch, values: Readonly<Record<string, unknown>>): Read {
    const validators = this.validatorsOf(match)
    const { parameters } = match.operation
    const names = inputNames(parameters)
    const nameOf = new Map(parameters.map((parameter, i) => [parameter, names[i] ?? '']))
    const known = new Set(names)
    if (match.operation.body) known.add('body')
    const unknown = Object.keys(values)
      .filter((name) => !known.has(name))
      .map((name) => wrong(plainName(name), 'body', 'is not a parameter of this operation'))
    const given = values['body']
    const body: SentBody =
      given === undefined
        ? { kind: 'none' }
        : match.operation.body && isJsonBody(match.operation.body)
          ? { kind: 'json', value: given, text: JSON.stringify(given) }
          : { kind: 'value', value: given }
    const find = (parameter: ApiParameter) => {
      const name = nameOf.get(parameter) ?? ''
      return Object.hasOwn(values, name) ? writeParameter(parameter, values[name]) : undefined
    }
    return this.input(match, validators, {}, body, unknown, { find })
  }

  private input(
    { operation, api }: ApiMatch,
    validators: Validators,
    headers: Record<string, string>,
    body: SentBody,
    errors: ParameterError[],
    sent: GivenParameters,
  ): Read {
    const path: Record<string, string> = {}
    const query = new SentQuery(api.auth)
    let bound: number | null = null
    for (const { parameter, validate, fallback, location } of validators.parameters) {
      const found = sent.find(parameter, validate) ?? fallback
      if (!found) {
        if (parameter.required) errors.push(missing(parameter.name, location))
        continue
      }
      const problem = validate(found.value) ?? found.problem ?? unsafe(parameter, found) ?? query.add(parameter, found)
      if (problem !== null) {
        errors.push(wrong(parameter.name, location, problem))
        continue
      }
      if (parameter === validators.bound && typeof found.value === 'number') bound = found.value
      if (parameter.in === 'path') path[parameter.name] = encodedText(found)
      if (parameter.in === 'header') headers[parameter.name.toLowerCase()] = found.pairs[0]?.[1] ?? ''
    }
    const { inPath } = validators
    if (errors.length === 0 && inPath.length > 0 && !isPathOf({ api, operation }, writtenPath(operation.path, path)))
      errors.push(wrong(inPath.join(', '), 'query', 'makes this the path of another operation'))
    const written = bodyOf(operation.body, validators, body)
    if (!written.ok) errors.push(written.error)
    if (errors.length > 0 || !written.ok) return err(errors)
    const numberOf = bound === null ? validators.numberOf : always(bound)
    return ok({ path, query: query.pairs, headers, body: written.value, numberOf })
  }

  private validatorsOf({ operation, api }: ApiMatch): Validators {
    const known = this.compiled.get(operation)
    if (known) return known
    // The catalog refuses such parameters too; what is stored from before a rule must not go up either.
    const passable = operation.parameters.filter((parameter) => isPassable(parameter, api.auth))
    const inQuery = passable.filter((parameter) => parameter.in === 'query')
    const validators = {
      names: new Set(inQuery.flatMap(plainNames)),
      brackets: inQuery.filter(({ style }) => style === 'deepObject'),
      parameters: passable.map(
        (parameter): Declared => ({
          parameter,
          validate: this.compileSchema(parameter.schema),
          fallback: fallbackOf(parameter),
          location: parameter.in === 'header' ? 'header' : 'query',
        }),
      ),
      body: this.compileSchema(operation.body?.schema ?? true),
      form: new Form(operation.body),
      headersUp: sentNames(operation.headersUp, api.auth),
      inPath: pathParameters(operation.path),
      bound: inQuery.find(({ name }) => name === boundName(operation)),
      numberOf: (name: string) => boundOf(operation, name, api.name),
    }
    this.compiled.set(operation, validators)
    return validators
  }
}

/** Null means no default, as does one that was stored before defaults had to be writable. */
function fallbackOf(parameter: ApiParameter): WireValue | undefined {
  if (parameter.default === undefined) return undefined
  const written = writeParameter(parameter, parameter.default)
  return written.problem === undefined ? written : undefined
}

/** Whether a name of a query is that of a parameter, or of a member of one. */
function isDeclared({ names, brackets }: Validators, name: string): boolean {
  if (names.has(name)) return true
  for (const parameter of brackets) if (claimsName(parameter, name)) return true
  return false
}

/** Whether a declared parameter may go up: no header or query parameter that speaks for the gateway or carries its credential. */
function isPassable({ name, in: location }: ApiParameter, auth: Api['auth']): boolean {
  if (location === 'header') return maySend(name.toLowerCase(), auth)
  return !(location === 'query' && auth.kind === 'query' && auth.name === name)
}

function boundName({ price }: ApiOperation): string | null {
  return price.mode === 'units' && typeof price.maximum === 'object' ? price.maximum.parameter : null
}

function always(value: number): ApiInput['numberOf'] {
  return () => value
}

/** The value of a parameter that bounds the price is always sent: it has a default. */
function boundOf({ parameters }: ApiOperation, name: string, api: string): number {
  const { default: value } = parameters.find((parameter) => parameter.in === 'query' && parameter.name === name) ?? {}
  if (typeof value !== 'number') throw new Error(`${name} of ${api} bounds a price but has no default`)
  return value
}

function bodyOf(
  declared: ApiBody | null,
  { body: validate, form }: Pick<Validators, 'body' | 'form'>,
  sent: SentBody,
): Result<UpstreamBody | null, ParameterError> {
  if (sent.kind === 'none') return declared?.required ? err(missing('body', 'body')) : ok(null)
  if (!declared) return err(wrong('body', 'body', 'is not accepted by this operation'))
  const { contentType } = declared
  if (isJsonBody(declared) !== (sent.kind === 'json'))
    return err(wrong('content-type', 'body', `must be ${contentType}`))
  if (sent.kind === 'json') {
    const problem = overflows(sent.text, sent.value) ? 'has a number that is too large' : validate(sent.value)
    if (problem !== null) return err(wrong('body', 'body', problem))
    return ok({ kind: 'json', contentType, text: rewrittenJson(sent.text, sent.value) })
  }
  const takesFiles = contentType === 'multipart/form-data'
  const { value, fields, problem } =
    sent.kind === 'form' ? form.read(sent.fields) : form.write(sent.value, takesFiles ? fileIn : () => null)
  const rule = validate(value) ?? problem
  if (rule !== null) return err(wrong('body', 'body', rule))
  if (takesFiles) return ok({ kind: 'multipart', fields })
  const pairs = fields.map(([name, text]) => [name, typeof text === 'string' ? text : ''] as [string, string])
  return ok({ kind: 'urlencoded', contentType, text: new URLSearchParams(pairs).toString() })
}

function fileIn(value: unknown): FormFile | null {
  if (!isJson(value)) return null
  const { base64, filename = 'file', content_type: type = 'application/octet-stream', ...others } = value
  if (typeof base64 !== 'string' || typeof filename !== 'string' || typeof type !== 'string') return null
  if (Object.keys(others).length > 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(base64)) return null
  return { name: filename, type, bytes: new Uint8Array(Buffer.from(base64, 'base64')) }
}

/** The query that goes up. Only objects are sent by other names than their parameter's, and those must not be another parameter's. */
class SentQuery {
  readonly pairs: WirePair[] = []
  private readonly auth: Api['auth']
  /** Names that were sent. Null as long as each parameter was sent by its own. */
  private taken: Set<string> | null = null

  constructor(auth: Api['auth']) {
    this.auth = auth
  }

  /** Adds what a query parameter sends, or says why it may not. */
  add({ name, in: location }: ApiParameter, { pairs }: WireValue): string | null {
    if (location !== 'query') return null
    const [first] = pairs
    if (this.taken || pairs.length !== 1 || !first || first[0] !== name) return this.addAll(name, pairs)
    this.pairs.push(first)
    return null
  }

  private addAll(name: string, pairs: WireValue['pairs']): string | null {
    if (!this.taken && pairs.some(([sent]) => sent !== name))
      this.taken = new Set([
        ...this.pairs.map(([sent]) => sent),
        ...(this.auth.kind === 'query' ? [this.auth.name] : []),
      ])
    const { taken } = this
    if (taken && pairs.some(([sent]) => taken.has(sent))) return 'sends what another parameter sends'
    for (const pair of pairs) {
      this.pairs.push(pair)
      taken?.add(pair[0])
    }
    return null
  }
}

function encodedText({ pairs: [pair] }: WireValue): string {
  return pair ? (pair[2] ?? encodeURIComponent(pair[1])) : ''
}

/** Values that no schema may allow: a path value that leads elsewhere, a header that ends its line. */
function unsafe({ in: location, style }: ApiParameter, { pairs }: WireValue): string | null {
  for (const [name, text] of pairs) {
    if (location === 'header' && !(isHeaderValue(text) && text === text.trim()))
      return 'must be visible ASCII text that neither begins nor ends with a blank'
    // The semicolons of a matrix are its own: its parts have none.
    if (location === 'path' && !plainValue(style === 'matrix' ? text.replaceAll(';', '') : text).ok)
      return 'must be one plain path segment'
    if (location === 'query' && (LINE_ENDS.test(name) || LINE_ENDS.test(text))) return 'must not contain CR, LF or NUL'
  }
  return null
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is refused
const LINE_ENDS = /[\u0000\r\n]/

function isHeaderValue(text: string): boolean {
  return /^[\t\x20-\x7e]{0,4096}$/.test(text)
}

function plainName(name: string): string {
  return name.replace(/[^\x20-\x7e]/g, '?').slice(0, 100)
}

function wrong(param: string, location: ParameterError['in'], rule: string): ParameterError {
  return { param, in: location, code: 'invalid_parameter', rule, received: null }
}

function missing(param: string, location: ParameterError['in']): ParameterError {
  return { param, in: location, code: 'missing_parameter', rule: 'is required', received: null }
}
