import { boundedBytes } from '../../../core/bounded-bytes'
import { AUDIENCES } from '../../../core/credentials/oauth-grant'
import { parsedJson } from '../../../core/json'
import { err, ok, type Result } from '../../../core/result'
import { type IntrospectionCall, introspectionIn } from './oauth-introspection'
import { type Registration, validateRegistration } from './oauth-registration'

type MediaType = 'application/x-www-form-urlencoded' | 'application/json'

interface ProtocolEndpoint {
  readonly mediaTypes: readonly MediaType[]
  readonly maxBytes: number
}

const FORM = 'application/x-www-form-urlencoded'
const JSON_TYPE = 'application/json'
const SMALL = 16 * 1024

const INTROSPECTION = '/oauth2/introspect'

/** Endpoints for apps, not people: no cookies, any origin, errors as in RFC 6749 5.2. */
export const PROTOCOL: ReadonlyMap<string, ProtocolEndpoint> = new Map([
  ['/oauth2/token', { mediaTypes: [FORM], maxBytes: SMALL }],
  ['/oauth2/revoke', { mediaTypes: [FORM], maxBytes: SMALL }],
  [INTROSPECTION, { mediaTypes: [FORM], maxBytes: SMALL }],
  ['/oauth2/register', { mediaTypes: [JSON_TYPE], maxBytes: SMALL }],
  ['/device/code', { mediaTypes: [FORM], maxBytes: SMALL }],
])

/** Browser apps may call these; the only credentials are those in the body. */
export const OPEN_TO_ALL = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
  'access-control-max-age': '86400',
} as const

export interface OAuthError {
  readonly status: number
  readonly error: string
  readonly description: string
}

/** An app's request as the library sees it, with what was parsed from it. */
export interface ProtocolCall {
  readonly request: Request
  /** The authorization code that it redeems. */
  readonly code: string | null
  readonly registration: Registration | null
  /** Its question about a token. */
  readonly introspection: IntrospectionCall | null
}

export function isProtocolPath(path: string): boolean {
  return PROTOCOL.has(path)
}

/**
 * Turns an app's request into the one that the library sees. Cookies and origin are removed: nothing may depend on who is signed in
 * in the browser that sends it. A repeated parameter is refused (RFC 6749 3.2), but for `resource` (RFC 8707).
 */
export async function protocolRequest(
  request: Request,
  path: string,
  target: URL,
  addressHeader: readonly [string, string] | null,
): Promise<Result<ProtocolCall, OAuthError>> {
  const endpoint = PROTOCOL.get(path)
  if (!endpoint) throw new Error(`${path} is not an OAuth protocol endpoint`)
  const invalid = (status: number, description: string) => err({ status, error: 'invalid_request', description })
  const type = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? ''
  if (!endpoint.mediaTypes.includes(type as MediaType))
    return invalid(415, `send the parameters as ${endpoint.mediaTypes.join(' or ')}`)
  const text = await cappedText(request, endpoint.maxBytes)
  if (text === null) return invalid(413, `the body may have at most ${endpoint.maxBytes} bytes`)
  const asked = path === '/device/code' ? target.origin : null
  const valid = type === FORM ? plainForm(text, asked) : trimmedRegistration(text)
  if (!valid.ok) return err(valid.error)
  const { body, code, registration } = valid.value
  const headers = new Headers({ 'content-type': type, accept: 'application/json' })
  const authorization = request.headers.get('authorization')
  if (authorization !== null) headers.set('authorization', authorization)
  if (addressHeader) headers.set(...addressHeader)
  const introspection = path === INTROSPECTION ? introspectionIn(new URLSearchParams(body), authorization) : null
  return ok({ request: new Request(target, { method: 'POST', headers, body }), code, registration, introspection })
}

/** A response to an app: the library's own error if the protocol defines it, else the closest code that the RFCs define. */
export function protocolError(status: number, body: string, retryAfter: string | null): OAuthError & { wait: number } {
  const wait = Math.max(1, Math.ceil(Number(retryAfter) || 1))
  if (status === 429) return { status, error: 'temporarily_unavailable', description: 'Too many requests.', wait }
  if (status === 503)
    return { status, error: 'temporarily_unavailable', description: 'The database is not responding. Try again.', wait }
  if (status >= 500) return { status: 500, error: 'server_error', description: 'Something broke on our side.', wait }
  const error = parsedError(body)
  return {
    status,
    error: error.error ?? 'invalid_request',
    description: error.description ?? 'The request is not valid.',
    wait,
  }
}

export function protocolResponse({ status, error, description }: OAuthError, wait: number | null = null): Response {
  const headers = new Headers({ ...OPEN_TO_ALL, 'content-type': 'application/json', 'cache-control': 'no-store' })
  if ((status === 429 || status === 503) && wait !== null) headers.set('retry-after', String(wait))
  if (status === 401) headers.set('www-authenticate', 'Basic realm="gateway"')
  return new Response(JSON.stringify({ error, error_description: description }), { status, headers })
}

/** Always asks for consent: remembered consent would give a code to anyone who knows a public client id (RFC 8252 8.6). */
export function askForConsent(query: URLSearchParams): void {
  const prompts = (query.get('prompt') ?? '').split(' ')
  query.set('prompt', prompts.includes('login') ? 'login consent' : 'consent')
}

/** An app that names no resource asks for all of them (RFC 8707 2): a token without a resource is valid nowhere. */
export function nameResources(parameters: URLSearchParams, origin: string): void {
  if (!parameters.has('resource')) for (const path of AUDIENCES) parameters.append('resource', origin + path)
}

interface ValidBody extends Pick<ProtocolCall, 'code' | 'registration'> {
  readonly body: string
}

/** `origin`: of the resources, if the form asks for a new grant. */
function plainForm(text: string, origin: string | null): Result<ValidBody, OAuthError> {
  const form = new URLSearchParams(text)
  const names = [...form.keys()].filter((name) => name !== 'resource')
  if (new Set(names).size < names.length)
    return err({ status: 400, error: 'invalid_request', description: 'a parameter was sent more than once' })
  // An app may not choose the user of a device code: the signed-in user who opens the page claims it.
  form.delete('user_id')
  if (origin !== null) nameResources(form, origin)
  const code = form.get('grant_type') === 'authorization_code' ? form.get('code') : null
  return ok({ body: form.toString(), code, registration: null })
}

function trimmedRegistration(text: string): Result<ValidBody, OAuthError> {
  const valid = validateRegistration(parsedJson(text))
  if (!valid.ok) return err({ status: 400, error: 'invalid_client_metadata', description: valid.error })
  const { body, ...registration } = valid.value
  return ok({ body: JSON.stringify(body), code: null, registration })
}

async function cappedText(request: Request, max: number): Promise<string | null> {
  return (await boundedBytes(request.body, max))?.toString('utf8') ?? null
}

function parsedError(body: string): { error?: string; description?: string } {
  const value = parsedJson(body)
  const read = (name: string) => {
    const member: unknown = Reflect.get(Object(value), name)
    return typeof member === 'string' ? member : undefined
  }
  const error = read('error') ?? (read('code') ? 'invalid_request' : undefined)
  const description = read('error_description') ?? read('message')
  return { ...(error && { error }), ...(description && { description }) }
}
