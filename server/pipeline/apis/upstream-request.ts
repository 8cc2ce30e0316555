import type { Api } from '../../core/apis/api'
import { type ApiMatch, writtenPath } from '../../core/apis/api-routes'
import type { SecretsOf } from '../../core/apis/secrets'
import type { WirePair } from '../../core/apis/wire-values'
import { err, ok, type Result } from '../../core/result'
import type { ApiInput, UpstreamBody } from './api-input'

/** A request to the upstream of an API. `secrets`: what its answer must never contain. */
export interface UpstreamRequest {
  readonly url: string
  readonly method: Api['operations'][number]['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  /** Set for what must be sent once, whatever its method is. */
  readonly isWrite: boolean
  readonly secrets: readonly string[]
}

/** How the gateway authenticates: headers, query parameters, and what must not leak. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: readonly WirePair[]
  readonly secrets: readonly string[]
}

/** The headers that mark a request as ours. `traceparent`: set only if the operator hands traces on. */
interface RequestMarks {
  readonly requestId: string
  readonly hops: number
  readonly traceparent?: string | null
}

/** Counts the gateways that a request has passed through. An API may lead back to this gateway under another name. */
export const HOPS_HEADER = 'x-gateway-hops'
/** A request that has passed through so many is not sent on. */
export const MAX_HOPS = 3

export const NO_CREDENTIALS: Credentials = { headers: {}, query: [], secrets: [] }

const WRITTEN = new WeakMap<Api, { readonly token: string | null; readonly credentials: Credentials }>()

/**
 * The credentials of an API, or null if its secret, or with `oauth2` its token, is not there. Written once per API, which is immutable, and
 * token: neither the environment nor what is sealed in it changes.
 */
export function credentialsOf(api: Api, secretsOf: SecretsOf, token: string | null): Credentials | null {
  const known = WRITTEN.get(api)
  if (known && known.token === token) return known.credentials
  const credentials = writtenCredentials(api, secretsOf, token)
  if (credentials) WRITTEN.set(api, { token, credentials })
  return credentials
}

function writtenCredentials({ name, auth }: Api, secretsOf: SecretsOf, token: string | null): Credentials | null {
  if (auth.kind === 'none') return NO_CREDENTIALS
  // An upstream that is paid per request is asked by `askPaid` alone.
  if (auth.kind === '402') return null
  const stored = secretsOf(name, auth.secret)
  const secret = auth.kind === 'oauth2' ? token : stored
  if (stored === null || secret === null || secret === '' || /[\r\n\0]/.test(secret)) return null
  switch (auth.kind) {
    case 'header':
      return { headers: { [auth.name.toLowerCase()]: secret }, query: [], secrets: [secret, ...longWords(secret)] }
    case 'query':
      return { headers: {}, query: [[auth.name, secret]], secrets: [secret] }
    case 'bearer':
    case 'oauth2':
      return { headers: { authorization: `Bearer ${secret}` }, query: [], secrets: [...new Set([secret, stored])] }
    case 'basic': {
      const packed = Buffer.from(secret).toString('base64')
      // Parts that an upstream decodes and shows are as secret.
      const password = secret.slice(secret.indexOf(':') + 1)
      return { headers: { authorization: `Basic ${packed}` }, query: [], secrets: [secret, password] }
    }
  }
}

/**
 * Writes the upstream request of a validated input. The URL is built from encoded parts and checked again: it parses to itself, and stays
 * at the API's origin and below its base path. The error says which check failed; it is a bug or an attack, never sent.
 */
export function upstreamRequest(
  { api, operation }: Pick<ApiMatch, 'api' | 'operation'>,
  input: Pick<ApiInput, 'path' | 'query' | 'headers'>,
  body: WrittenBody | null,
  credentials: Credentials,
  { requestId, hops, traceparent = null }: RequestMarks,
): Result<UpstreamRequest, string> {
  const base = baseOf(api)
  const path = writtenPath(operation.path, input.path)
  const parts = [api.baseUrl, path]
  addPairs(parts, input.query)
  addPairs(parts, credentials.query)
  const url = parts.join('')
  // A query changes nothing before it.
  const isChecked = base.plainPaths.has(path) && !url.includes('#')
  const problem = isChecked ? null : escapes(base, url)
  if (problem !== null) return err(problem)
  const headers: Record<string, string> = { ...input.headers }
  if (operation.idempotencyHeader !== null) headers[operation.idempotencyHeader.toLowerCase()] = requestId
  for (const [name, value] of base.headers) headers[name] = value
  for (const name in credentials.headers) headers[name] = credentials.headers[name] ?? ''
  headers[HOPS_HEADER] = String(hops + 1)
  if (traceparent !== null) headers['traceparent'] = traceparent
  if (body) headers['content-type'] = body.contentType
  const { method, effect } = operation
  const request = { url, method, headers, isWrite: effect === 'write', secrets: credentials.secrets }
  return ok(body ? { ...request, body: body.bytes } : request)
}

const PLAIN = /^[\w.~-]*$/

/** Adds pairs to the parts of a URL, the first two of which are before its query. */
function addPairs(parts: string[], pairs: readonly WirePair[]): void {
  for (const [name, text, encoded] of pairs)
    parts.push(parts.length === 2 ? '?' : '&', encodedText(name), '=', encoded ?? encodedText(text))
}

function encodedText(text: string): string {
  return PLAIN.test(text) ? text : encodeURIComponent(text)
}

/** Where the URLs of an API must stay. */
interface Base {
  readonly origin: string
  /** The base path, with a slash at its end. */
  readonly prefix: string
  /** Where the path begins in a URL of the API: its origin as it is declared, which may name the default port. */
  readonly pathAt: number
  /** How each of its URLs begins that is written as a parser writes it: the origin, and the prefix. */
  readonly start: string
  /** The paths without parameters that passed the checks: only their query differs from call to call. */
  readonly plainPaths: ReadonlySet<string>
  /** The API's own headers, with lower-case names. */
  readonly headers: readonly (readonly [string, string])[]
}

const BASES = new WeakMap<Api, Base>()

/** Parsed once per API, which is immutable. */
function baseOf(api: Api): Base {
  return BASES.get(api) ?? parsedBase(api)
}

function parsedBase(api: Api): Base {
  const { origin, pathname } = new URL(api.baseUrl)
  const pathAt = /^[a-z]+:\/\/[^/]+/i.exec(api.baseUrl)?.[0].length ?? 0
  const prefix = `${pathname.replace(/\/$/, '')}/`
  const place = { origin, prefix, pathAt, start: origin + prefix }
  const plain = api.operations.filter(({ path }) => !path.includes('{') && escapes(place, api.baseUrl + path) === null)
  const headers = Object.entries(api.headers).map(([name, value]) => [name.toLowerCase(), value] as const)
  const base = { ...place, plainPaths: new Set(plain.map(({ path }) => path)), headers }
  BASES.set(api, base)
  return base
}

/** Why a built URL may not be called, or null. `encodeURIComponent` leaves `'()*!`, which WHATWG URLs encode in queries only for `'`. */
function escapes({ origin, prefix, pathAt, start }: Omit<Base, 'plainPaths' | 'headers'>, url: string): string | null {
  const parsed = URL.parse(url)
  if (!parsed) return 'the URL does not parse'
  // All of it parses to itself. Asking for its parts takes longer than parsing it.
  if (url.startsWith(start) && !url.includes('#') && parsed.href === url) return null
  if (parsed.origin !== origin) return 'the URL leaves the origin of the API'
  const { pathname } = parsed
  if (!pathname.startsWith(prefix)) return 'the URL leaves the base path of the API'
  const end = url.indexOf('?')
  if (pathname !== url.slice(pathAt, end < 0 ? undefined : end)) return 'the URL does not parse to itself'
  return parsed.hash === '' && parsed.username === '' && parsed.password === ''
    ? null
    : 'the URL has a fragment or a user'
}

export interface WrittenBody {
  readonly contentType: string
  readonly bytes: string | Uint8Array<ArrayBuffer>
}

/** Writes a body, once for all requests that are made of it. */
export async function writtenBody(body: UpstreamBody): Promise<WrittenBody> {
  if (body.kind !== 'multipart') return { contentType: body.contentType, bytes: body.text }
  // Written anew: boundary, part headers and file names are ours.
  const form = new FormData()
  for (const [name, value] of body.fields)
    if (typeof value === 'string') form.append(name, value)
    else form.append(name, new Blob([value.bytes], { type: value.type }), plainFileName(value.name))
  const response = new Response(form)
  const contentType = response.headers.get('content-type') ?? 'multipart/form-data'
  return { contentType, bytes: new Uint8Array(await response.arrayBuffer()) }
}

function plainFileName(name: string): string {
  return (
    name
      .replace(/[^A-Za-z0-9._ -]/g, '_')
      .replace(/^\.+/, '_')
      .slice(0, 100) || 'file'
  )
}

/** The parts of a header such as `Token abcdefgh` that are secret by themselves. */
function longWords(secret: string): string[] {
  const words = secret.split(' ')
  return words.length > 1 ? words.filter((word) => word.length >= 12) : []
}
