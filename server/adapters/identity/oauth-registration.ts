import { no, ok, type Result } from '../../core/result'

/** The members of a registration that are kept (RFC 7591 2); all others are ignored, as the RFC lets a server do. */
const KEPT = [
  'client_name',
  'redirect_uris',
  'grant_types',
  'response_types',
  'token_endpoint_auth_method',
  'application_type',
  'scope',
  'software_id',
  'software_version',
] as const

const MOST_NAME_CHARACTERS = 80
const MOST_REDIRECTS = 10
const MOST_URI_CHARACTERS = 500
/** With keys of its own an app would make this server fetch its addresses; there is no need for it. */
const AUTH_METHODS = ['none', 'client_secret_basic', 'client_secret_post']

/**
 * Judges and trims what an app says of itself before the library sees it. Logos, policies, key sets and logout addresses are
 * dropped, so that no page shows and no server fetches what a stranger wrote. The error is the reason, in words.
 */
export function judgedRegistration(body: unknown): Result<Record<string, unknown>, string> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return no('the body must be a JSON object')
  const kept: Record<string, unknown> = {}
  for (const member of KEPT) if (Object.hasOwn(body, member)) kept[member] = Reflect.get(body, member)
  const { client_name: name, redirect_uris: uris, token_endpoint_auth_method: method } = kept
  if (!Array.isArray(uris) || uris.length < 1 || uris.length > MOST_REDIRECTS)
    return no(`redirect_uris must hold 1 to ${MOST_REDIRECTS} addresses`)
  if (!uris.every((uri) => typeof uri === 'string' && uri.length <= MOST_URI_CHARACTERS))
    return no(`a redirect address may have at most ${MOST_URI_CHARACTERS} characters`)
  if (method !== undefined && !AUTH_METHODS.includes(String(method)))
    return no(`token_endpoint_auth_method must be one of ${AUTH_METHODS.join(', ')}`)
  if (name !== undefined) kept['client_name'] = plainName(name)
  // The library reads a missing application_type as "web" and then refuses every loopback address (facts 3.1, RFC 8252).
  if (kept['application_type'] === undefined && uris.every(isLoopback)) kept['application_type'] = 'native'
  return ok(kept)
}

/** Text of one line: no control characters, nor those that turn the direction of writing. */
export function plainName(name: unknown): string {
  const text = String(name).replace(/[\p{C}\p{Zl}\p{Zp}]+/gu, ' ')
  return [...text.trim()].slice(0, MOST_NAME_CHARACTERS).join('')
}

function isLoopback(uri: unknown): boolean {
  const url = typeof uri === 'string' ? URL.parse(uri) : null
  return url?.protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname)
}
