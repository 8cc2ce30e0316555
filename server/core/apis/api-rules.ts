import type { ParameterError } from '../catalog/parameters'
import { isJson } from '../json'
import { isPlainLine, isPlainText } from '../plain-text'
import {
  API_NAME,
  type Api,
  type ApiBody,
  type ApiOperation,
  type ApiParameter,
  isJsonBody,
  JSON_TYPE,
  OPERATION_ID,
  type UpstreamAuth,
} from './api'
import { clashes, pathParameters, templateProblem } from './api-routes'
import { isPointer } from './prices/figure'
import { priceProblem } from './prices/price-rules'
import { mayReturn, maySend } from './upstream-headers'
import { plainNames, unwritable, writeParameter } from './wire-values'

/** The limits that an API must respect. */
export interface ApiSurroundings {
  /** Names that built-in operations use below `/apis/v1`. */
  readonly reserved: ReadonlySet<string>
  /** The gateway's own origins: it does not sell itself in a circle. */
  readonly ownOrigins: ReadonlySet<string>
  /** Whether it has a wallet that pays upstreams per request. */
  readonly hasWallet: boolean
}

export const MAX_TITLE = 100
export const MAX_DESCRIPTION = 1000
export const MAX_OPERATIONS = 2000
/** Of an API's title, timeout, concurrency and cache, for the wire and the command line. */
export const API_LIMITS = {
  timeoutMs: { minimum: 100, maximum: 600_000 },
  concurrency: { minimum: 1, maximum: 10_000 },
  cacheSeconds: { minimum: 0, maximum: 86_400 },
} as const
const MAX_SCHEMA_BYTES = 256 * 1024
const MAX_SCHEMA_DEPTH = 100
const HEADER_NAME = /^[a-z0-9][a-z0-9_-]{0,99}$/i
const WITHOUT_CREDENTIAL = { kind: 'none' } as const
const UPSTREAM_VARIABLE = /^UPSTREAM_[A-Z0-9_]{1,100}$/

/** Every rule that an API breaks, each with the member that breaks it. Empty if it can be stored and sold. */
export function apiProblems(api: Api, { reserved, ownOrigins, hasWallet }: ApiSurroundings): ParameterError[] {
  const problems: ParameterError[] = []
  const add = (param: string, rule: string | null, received = '') => {
    if (rule !== null)
      problems.push({ param, in: 'body', code: 'invalid_parameter', rule, received: received.slice(0, 100) })
  }
  add('name', nameProblem(api.name, reserved), api.name)
  add('base_url', baseUrlProblem(api.baseUrl, ownOrigins))
  add('auth', api.auth.kind === '402' ? paidProblem(api, hasWallet) : authProblem(api.auth))
  add('title', textProblem(api.title, MAX_TITLE, isPlainLine))
  add('description', textProblem(api.description, MAX_DESCRIPTION, isPlainText))
  for (const [name, value] of Object.entries(api.headers)) add('headers', headerProblem(name, value, api.auth), name)
  if (api.operations.length > MAX_OPERATIONS) add('operations', `must be at most ${MAX_OPERATIONS}`)
  const ids = new Set<string>()
  for (const operation of api.operations) {
    const label = `operations.${operation.id.slice(0, 64)}`
    if (ids.has(operation.id)) add(label, 'is declared twice')
    ids.add(operation.id)
    for (const rule of operationProblems(operation, api)) add(label, rule)
  }
  if (problems.length > 0) return problems
  for (const { method, shape, names } of clashes(api))
    add('operations', `clash: ${method} ${shape} is declared by ${names.join(' and ')}`)
  return problems
}

/** Why an operation cannot be sold, or none. */
export function operationProblems(operation: ApiOperation, { auth }: Pick<Api, 'auth'>): string[] {
  const { id, method, path, success, refusedStatuses, headersUp, headersDown, idempotencyHeader } = operation
  const found: (string | null)[] = [
    OPERATION_ID.test(id) ? null : 'needs an id of 1 to 64 letters, digits, _ and -',
    prefixed('path', templateProblem(path)),
    prefixed('title', textProblem(operation.title, MAX_TITLE, isPlainLine)),
    prefixed('description', textProblem(operation.description, MAX_DESCRIPTION, isPlainText)),
    ...parameterProblems(operation, auth),
    operation.body && method === 'GET' ? 'is a GET, which has no body' : null,
    operation.body && prefixed('body', bodyProblem(operation.body)),
    prefixed('price', priceProblem(operation, { auth })),
    success.minStatus >= 200 && success.maxStatus <= 599 && success.minStatus <= success.maxStatus
      ? null
      : 'success needs statuses from 200 to 599',
    success.conditions.every(({ pointer }) => isPointer(pointer)) ? null : 'success needs JSON Pointers such as /ok',
    success.conditions.length > 0 && operation.answer === 'stream' ? 'success of a stream is its status alone' : null,
    refusedStatuses.every((status) => status >= 400 && status <= 499) ? null : 'refused_statuses must be 400 to 499',
    ...headersUp.map((name) => prefixed('headers_up', upwardProblem(name, auth))),
    ...headersDown.map((name) => prefixed('headers_down', downwardProblem(name))),
    idempotencyHeader === null ? null : prefixed('idempotency_header', upwardProblem(idempotencyHeader, auth)),
  ]
  return found.filter((rule) => rule !== null)
}

/** Why an API cannot have this name, or null. */
function nameProblem(name: string, reserved: ReadonlySet<string>): string | null {
  if (!API_NAME.test(name)) return 'must be 1 to 40 lower-case letters, digits and inner hyphens, such as weather'
  return reserved.has(name) ? 'is a name of built-in operations; choose another one' : null
}

function baseUrlProblem(text: string, ownOrigins: ReadonlySet<string>): string | null {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return 'must be an http or https URL such as https://api.vendor.com/v2'
  if (url.search || url.hash || url.username || url.password || /[?#]/.test(text))
    return 'must have no query, fragment or credentials'
  if (url.href !== text && url.href !== `${text}/`) return `must be written as ${url.href.replace(/\/$/, '')}`
  if (text.endsWith('/')) return 'must not end with a slash'
  return ownOrigins.has(url.origin) ? 'must not be this gateway' : null
}

/** Why an upstream cannot be paid per request, or null. */
function paidProblem({ auth, cacheSeconds }: Api, hasWallet: boolean): string | null {
  if (auth.kind !== '402') return null
  if (!hasWallet) return 'must not be 402: the gateway has no wallet; set UPSTREAM_WALLET_KEY and its other settings'
  if (auth.payees.length === 0 || !auth.payees.every((payee) => /^0x[0-9a-fA-F]{40}$/.test(payee)))
    return 'must name the addresses that may be paid, such as 402:0x1111111111111111111111111111111111111111'
  return cacheSeconds > 0 ? 'must not be 402 while cache_seconds is above 0: paid answers are never kept' : null
}

function authProblem(auth: UpstreamAuth): string | null {
  if (auth.kind === 'none' || auth.kind === '402') return null
  const { secret } = auth
  if (secret.from === 'environment' && !UPSTREAM_VARIABLE.test(secret.name))
    return 'must name a variable that begins with UPSTREAM_, such as env:UPSTREAM_VENDOR_KEY'
  if (secret.from === 'environment' && secret.name.startsWith('UPSTREAM_WALLET_'))
    return 'must not name a variable of the wallet'
  if (auth.kind === 'header') {
    const name = auth.name.toLowerCase()
    const own = ['authorization', 'x-api-key', 'x-goog-api-key'].includes(name.replaceAll('_', '-'))
    if (!HEADER_NAME.test(name) || !(own || maySend(name, WITHOUT_CREDENTIAL)))
      return 'must name a header that the gateway does not set itself'
  }
  if (auth.kind === 'query' && !/^[\w.~-]{1,100}$/.test(auth.name)) return 'must name a query parameter'
  if (auth.kind === 'oauth2' && URL.parse(auth.tokenUrl)?.protocol !== 'https:') return 'must have an https token URL'
  return null
}

function parameterProblems({ parameters, path }: ApiOperation, auth: UpstreamAuth): (string | null)[] {
  const inPath = pathParameters(path)
  const declared = parameters.filter((one) => one.in === 'path').map(({ name }) => name)
  const seen = new Set<string>()
  return [
    ...inPath.filter((name) => !declared.includes(name)).map((name) => `does not declare the path parameter ${name}`),
    ...declared.filter((name) => !inPath.includes(name)).map((name) => `declares ${name}, which is not in its path`),
    ...parameters.map((parameter) => {
      const label = `${parameter.in} ${parameter.name}`
      const same = parameter.in === 'header' ? label.toLowerCase() : label
      if (seen.has(same)) return `declares the parameter ${parameter.name} twice`
      seen.add(same)
      return prefixed(`parameter ${parameter.name.slice(0, 60)}`, parameterProblem(parameter, auth))
    }),
    ...sharedNames(parameters, auth).map(
      (name) => `sends the query name ${name.slice(0, 60)} twice: by two parameters, or as the upstream key`,
    ),
  ]
}

/** Query names that two parameters would send, as members of an object do. An upstream reads one of them, and it may not be the validated one. */
function sharedNames(parameters: ApiOperation['parameters'], auth: UpstreamAuth): string[] {
  const own = parameters.filter(({ in: location }) => location === 'query').flatMap(plainNames)
  const names = auth.kind === 'query' ? [...own, auth.name] : own
  return names.filter((name, i) => names.indexOf(name) !== i)
}

function parameterProblem(parameter: ApiParameter, auth: UpstreamAuth): string | null {
  const { name, in: location, required } = parameter
  if (!isPlainLine(name) || name === '' || name.length > 100) return 'needs a plain name of 1 to 100 characters'
  if (location === 'header') return upwardProblem(name, auth) ?? writingProblem(parameter)
  if (location === 'query' && auth.kind === 'query' && auth.name === name) return 'has the name of the upstream key'
  if (location === 'path' && !required) return 'must be required: it is part of the path'
  return writingProblem(parameter)
}

/** Why a parameter, or its default, cannot be written, or null. */
function writingProblem(parameter: ApiParameter): string | null {
  const problem = schemaProblem(parameter.schema) ?? unwritable(parameter)
  if (problem !== null || parameter.default === undefined || parameter.default === null) return problem
  return prefixed('has a default that', writeParameter(parameter, parameter.default).problem ?? null)
}

function bodyProblem(body: ApiBody): string | null {
  if (isJsonBody(body) && !JSON_TYPE.test(body.contentType)) return 'has a content type that is not JSON or a form'
  return schemaProblem(body.schema)
}

/** Values and patterns of strangers run in no regular expression; a reference leads nowhere but into the schema itself. */
function schemaProblem(schema: ApiParameter['schema']): string | null {
  if (JSON.stringify(schema).length > MAX_SCHEMA_BYTES) return `has a schema above ${MAX_SCHEMA_BYTES} bytes`
  return keywordProblem(schema, 0)
}

const REFUSED_KEYWORDS = ['pattern', 'patternProperties', 'format']
const NAMED_SCHEMAS = ['properties', '$defs', 'dependentSchemas']
const DATA = ['enum', 'const', 'default', 'examples', 'example']

function keywordProblem(schema: unknown, depth: number): string | null {
  if (depth > MAX_SCHEMA_DEPTH) return `has a schema deeper than ${MAX_SCHEMA_DEPTH}`
  if (Array.isArray(schema)) return first(schema, (part) => keywordProblem(part, depth + 1))
  if (!isJson(schema)) return null
  for (const keyword of REFUSED_KEYWORDS)
    if (keyword in schema) return `must not use ${keyword}: remove it, or import the document, which drops it`
  const target = schema['$ref']
  if (target !== undefined && !(typeof target === 'string' && /^#(\/\$defs\/.*)?$/.test(target)))
    return 'must refer to its own $defs only'
  return first(Object.entries(schema), ([keyword, part]) => {
    if (DATA.includes(keyword)) return null
    if (NAMED_SCHEMAS.includes(keyword) && isJson(part))
      return first(Object.values(part), (inner) => keywordProblem(inner, depth + 2))
    return keywordProblem(part, depth + 1)
  })
}

function first<T>(values: readonly T[], broken: (value: T) => string | null): string | null {
  for (const value of values) {
    const problem = broken(value)
    if (problem !== null) return problem
  }
  return null
}

function headerProblem(name: string, value: string, auth: UpstreamAuth): string | null {
  if (!/^[\x20-\x7e]{0,1000}$/.test(value)) return 'must have values of visible ASCII'
  return upwardProblem(name, auth)
}

/** Why a header is never sent to an upstream, even if declared: it belongs to the connection, to the gateway, or to its authentication. */
function upwardProblem(name: string, auth: UpstreamAuth): string | null {
  const lower = name.toLowerCase()
  if (!HEADER_NAME.test(name)) return 'must be the name of a header'
  return maySend(lower, auth) ? null : `must not name ${lower}`
}

function downwardProblem(name: string): string | null {
  const lower = name.toLowerCase()
  if (!HEADER_NAME.test(name)) return 'must be the name of a header'
  return mayReturn(lower) ? null : `must not name ${lower}`
}

function textProblem(text: string, max: number, isPlain: (text: string) => boolean): string | null {
  const rule = `must be plain text of at most ${max} characters, without HTML or hidden characters`
  return [...text].length <= max && isPlain(text) && !/<[a-z!/]/i.test(text) ? null : rule
}

function prefixed(what: string, rule: string | null): string | null {
  return rule === null ? null : `${what} ${rule}`
}
