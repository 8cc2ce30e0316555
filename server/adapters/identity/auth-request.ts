import { boundedBytes } from '../../core/bounded-bytes'
import { err, ok, type Result } from '../../core/result'
import type { SignInRefusal } from './error-shape'
import { askForConsent, nameResources } from './oauth/oauth-request'

export const BASE_PATH = '/api/auth'

/** The only header from which the library reads the client's IP address. Always overwritten here, never taken from the request. */
export const ADDRESS_HEADER = 'x-gateway-client-address'

const MAX_BODY_BYTES = 64 * 1024

/** Where a provider of sign-in sends people back; the last part names the provider. */
export const CALLBACK_PATH = '/callback/:id'

/**
 * Every endpoint served under the base path. The library has more (mail, account deletion, tokens of providers);
 * an endpoint that a new version adds stays closed until it is listed here.
 */
export const AUTH_ENDPOINTS: ReadonlyMap<string, 'GET' | 'POST'> = new Map([
  ['/sign-up/email', 'POST'],
  ['/sign-in/email', 'POST'],
  ['/sign-out', 'POST'],
  ['/get-session', 'GET'],
  ['/update-user', 'POST'],
  ['/change-password', 'POST'],
  ['/request-password-reset', 'POST'],
  ['/reset-password', 'POST'],
  ['/list-sessions', 'GET'],
  ['/revoke-session', 'POST'],
  ['/revoke-sessions', 'POST'],
  ['/revoke-other-sessions', 'POST'],
  ['/two-factor/enable', 'POST'],
  ['/two-factor/disable', 'POST'],
  ['/two-factor/verify-totp', 'POST'],
  ['/two-factor/verify-backup-code', 'POST'],
  ['/two-factor/generate-backup-codes', 'POST'],
  ['/passkey/generate-register-options', 'GET'],
  ['/passkey/verify-registration', 'POST'],
  ['/passkey/generate-authenticate-options', 'GET'],
  ['/passkey/verify-authentication', 'POST'],
  ['/passkey/list-user-passkeys', 'GET'],
  ['/passkey/delete-passkey', 'POST'],
  ['/passkey/update-passkey', 'POST'],
  // The OAuth endpoints for people in a browser. Those for apps are in oauth-request.ts.
  ['/oauth2/authorize', 'GET'],
  ['/oauth2/consent', 'POST'],
  ['/device', 'GET'],
  ['/device/approve', 'POST'],
  ['/device/deny', 'POST'],
])

/** Those for providers of sign-in, where there are any. */
export const PROVIDER_ENDPOINTS: typeof AUTH_ENDPOINTS = new Map([
  ['/sign-in/social', 'POST'],
  ['/link-social', 'POST'],
  [CALLBACK_PATH, 'GET'],
])

/** A refusal of these checks; `allow` is set on a 405 only. */
export interface EarlyRefusal extends SignInRefusal {
  readonly allow?: string
}

function refuse(status: number, code: string | null, message: string | null = null): Result<never, EarlyRefusal> {
  return err({ status, code, message, retryAfterSeconds: null })
}

/**
 * Turns a caller's request into the one that the library sees: a known endpoint, our own host, our IP header, a JSON body
 * of at most 64 KiB that parses, and, on a write, our own Origin. Otherwise returns a refusal.
 */
export async function authRequest(
  request: Request,
  address: string | null,
  own: { readonly origin: string; readonly trusted: ReadonlySet<string>; readonly hasProviders: boolean },
): Promise<Result<Request, EarlyRefusal>> {
  const url = new URL(request.url)
  const path = pathUnder(url)
  const ofProviders = PROVIDER_ENDPOINTS.get(isCallback(path) ? CALLBACK_PATH : path)
  const method = AUTH_ENDPOINTS.get(path) ?? (own.hasProviders ? ofProviders : undefined)
  if (method === undefined) return refuse(404, null)
  if (request.method !== method) {
    return err({ status: 405, code: null, message: null, retryAfterSeconds: null, allow: method })
  }

  const headers = new Headers(request.headers)
  headers.delete(ADDRESS_HEADER)
  const trueAddress = addressHeader(address)
  if (trueAddress) headers.set(...trueAddress)
  const target = new URL(url.pathname + url.search, own.origin)
  if (path === '/oauth2/authorize') {
    askForConsent(target.searchParams)
    nameResources(target.searchParams, own.origin)
  }
  if (method === 'GET') return ok(new Request(target, { method, headers }))

  if (isForeign(request.headers, own.trusted)) {
    const next = `Open the dashboard at ${own.origin}, its BASE_URL.`
    return refuse(403, 'INVALID_ORIGIN', `Requests from this origin are not allowed. ${next}`)
  }
  // The library refuses cookies without an Origin; isForeign has already allowed scripts that send none.
  if (!headers.has('origin')) headers.set('origin', own.origin)
  const body = await readJson(request)
  if (!body.ok) return body
  headers.delete('content-length')
  headers.delete('transfer-encoding')
  if (body.value === null) headers.delete('content-type')
  return ok(new Request(target, { method, headers, body: body.value }))
}

/** The part of the path under the base path; empty when it is not under it. */
export function pathUnder(url: URL): string {
  return url.pathname.startsWith(`${BASE_PATH}/`) ? url.pathname.slice(BASE_PATH.length) : ''
}

/** Whether a provider of sign-in sends somebody back there, by a navigation of their browser. */
export function isCallback(path: string): boolean {
  return /^\/callback\/[a-z]+$/.test(path)
}

/** The private header that tells the library where a request truly came from. */
export function addressHeader(address: string | null): readonly [string, string] | null {
  return address === null ? null : [ADDRESS_HEADER, withoutZone(address)]
}

/**
 * Browsers send Origin with every write and Sec-Fetch-Site with every request. A request with neither comes from a script,
 * and no foreign page can make a script send its cookies, so it is allowed. `null` is a foreign origin.
 */
function isForeign(headers: Headers, trusted: ReadonlySet<string>): boolean {
  const origin = headers.get('origin')
  if (origin !== null) return !trusted.has(origin)
  const site = headers.get('sec-fetch-site')
  return site !== null && site !== 'same-origin'
}

/** The body as JSON text that parses, or null for an empty one. */
async function readJson(request: Request): Promise<Result<string | null, EarlyRefusal>> {
  const bytes = await readCapped(request)
  if (!bytes.ok) return bytes
  if (bytes.value.length === 0) return ok(null)
  const mediaType = (request.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  if (mediaType !== 'application/json') return refuse(415, null)
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes.value)
    JSON.parse(text)
    return ok(text)
  } catch {
    return refuse(400, 'JSON_PARSE_ERROR', 'The body is not valid JSON.')
  }
}

/** Reads no more than one chunk past the cap, whatever Content-Length says. */
async function readCapped(request: Request): Promise<Result<Uint8Array, EarlyRefusal>> {
  const tooLarge = () => refuse(413, null, `The body can have at most ${MAX_BODY_BYTES} bytes.`)
  if (Number(request.headers.get('content-length') ?? 0) > MAX_BODY_BYTES) return tooLarge()
  try {
    const bytes = await boundedBytes(request.body, MAX_BODY_BYTES)
    return bytes ? ok(bytes) : tooLarge()
  } catch {
    return refuse(400, null, 'The body could not be read.')
  }
}

/** `fe80::1%eth0` is an address with a zone (a local network interface), which the library cannot parse. */
function withoutZone(address: string): string {
  return address.split('%')[0] ?? address
}
