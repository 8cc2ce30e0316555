import type { Api } from '../../core/apis/api'
import { type ApiMatch, writtenPath } from '../../core/apis/api-routes'
import type { SecretsOf } from '../../core/apis/secrets'
import { err, ok, type Result } from '../../core/result'
import type { ApiInput, UpstreamBody } from './api-input'

/** A request to the upstream of an API. `secrets`: what its answer must never contain. */
export interface UpstreamRequest {
  readonly url: string
  readonly method: Api['operations'][number]['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array<ArrayBuffer>
  readonly secrets: readonly string[]
}

/** How the gateway authenticates: headers, query parameters, and what must not leak. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>
  readonly query: readonly (readonly [string, string])[]
  readonly secrets: readonly string[]
}

/** Counts the gateways that a request has passed through. An API may lead back to this gateway under another name. */
export const HOPS_HEADER = 'x-gateway-hops'
/** A request that has passed through so many is not sent on. */
export const MAX_HOPS = 3

export const NO_CREDENTIALS: Credentials = { headers: {}, query: [], secrets: [] }

/** The credentials of an API, or null if its secret, or with `oauth2` its token, is not there. */
export function credentialsOf({ name, auth }: Api, secretsOf: SecretsOf, token: string | null): Credentials | null {
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
      // What an upstream decodes and shows in parts is as secret.
      const password = secret.slice(secret.indexOf(':') + 1)
      return { headers: { authorization: `Basic ${packed}` }, query: [], secrets: [secret, password] }
    }
  }
}

/**
 * Writes the upstream request of a validated input. The URL is built from encoded parts and checked again: it parses to itself, and stays
 * at the API's origin and below its base path. The error says which check failed; it is a bug or an attack, never sent.
 */
export async function upstreamRequest(
  { api, operation }: Pick<ApiMatch, 'api' | 'operation'>,
  input: ApiInput,
  credentials: Credentials,
  { requestId, hops }: { readonly requestId: string; readonly hops: number },
): Promise<Result<UpstreamRequest, string>> {
  const path = writtenPath(operation.path, input.path)
  const pairs = [...input.query, ...credentials.query]
  const query = pairs.map(([name, text]) => `${encodeURIComponent(name)}=${encodeURIComponent(text)}`).join('&')
  const url = `${api.baseUrl}${path}${query && `?${query}`}`
  const problem = escapes(api.baseUrl, url)
  if (problem !== null) return err(problem)
  const body = input.body && (await bodyBytes(input.body))
  return ok({
    url,
    method: operation.method,
    headers: {
      ...input.headers,
      ...(operation.idempotencyHeader !== null && { [operation.idempotencyHeader.toLowerCase()]: requestId }),
      ...lowerCase(api.headers),
      ...credentials.headers,
      [HOPS_HEADER]: String(hops + 1),
      ...(body && { 'content-type': body.contentType }),
    },
    ...(body && { body: body.bytes }),
    secrets: credentials.secrets,
  })
}

/** Why a built URL may not be called, or null. `encodeURIComponent` leaves `'()*!`, which WHATWG URLs encode in queries only for `'`. */
function escapes(baseUrl: string, url: string): string | null {
  const base = new URL(baseUrl)
  const parsed = URL.parse(url)
  if (!parsed) return 'the URL does not parse'
  if (parsed.origin !== base.origin) return 'the URL leaves the origin of the API'
  const prefix = base.pathname.replace(/\/$/, '')
  if (!parsed.pathname.startsWith(`${prefix}/`)) return 'the URL leaves the base path of the API'
  const [beforeQuery = ''] = url.split('?')
  if (`${parsed.origin}${parsed.pathname}` !== withPort(beforeQuery)) return 'the URL does not parse to itself'
  return parsed.hash === '' && parsed.username === '' && parsed.password === ''
    ? null
    : 'the URL has a fragment or a user'
}

/** The URL with its origin as the parser writes it: a declared default port is dropped. */
function withPort(url: string): string {
  const parsed = URL.parse(url)
  const start = /^[a-z]+:\/\/[^/]+/i.exec(url)?.[0] ?? ''
  return `${parsed?.origin ?? ''}${url.slice(start.length)}`
}

async function bodyBytes(
  body: UpstreamBody,
): Promise<{ readonly contentType: string; readonly bytes: string | Uint8Array<ArrayBuffer> }> {
  if (body.kind !== 'multipart')
    return { contentType: `application/${body.kind === 'json' ? 'json' : 'x-www-form-urlencoded'}`, bytes: body.text }
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

function lowerCase(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
}

/** The parts of a header such as `Token abcdefgh` that are secret by themselves. */
function longWords(secret: string): string[] {
  const words = secret.split(' ')
  return words.length > 1 ? words.filter((word) => word.length >= 12) : []
}
