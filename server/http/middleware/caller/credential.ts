import { ACCESS_TOKEN_PREFIX, type Audience, hashToken } from '../../../core/credentials/oauth-grant'
import { hashSecret, looksLikeSecret, secretProblem } from '../../../core/credentials/secret'
import type { ShownPayment } from '../../../core/payments/method'
import type { Credential, Route } from '../../../pipeline/call'

/** Where clients send a key other than in `Authorization`: the SDKs of Anthropic, Google and Azure. */
const KEY_HEADERS = ['x-api-key', 'x-goog-api-key', 'api-key']
/** Clients of Brave's search send theirs so, on routes of the same form. */
const SEARCH_KEY_HEADERS = [...KEY_HEADERS, 'x-subscription-token']
const SEARCHES = '/apis/v1/websearch/'

/**
 * The caller's credential (spec 5.1, 5.3). `Authorization: Bearer` carries a key or an app's access token, and wins over a key in
 * another place (`others`, of `otherSecrets`): `KEY_HEADERS`, and the query below `/v1beta`. `Authorization: Payment` and x402's
 * `PAYMENT-SIGNATURE` or `X-PAYMENT` pay for one request. After a 402, x402 clients send the payment along with the original key; where
 * payments are accepted, the payment wins. An `Authorization` with another scheme is an unknown credential, never "none".
 */
export function readCredential(headers: Headers, path: string, others: readonly string[], route: Route): Credential {
  const authorization = headers.get('authorization')
  const text = paymentIn(authorization)
  if (text !== null) return { kind: 'payment', shown: { scheme: 'payment', text } }
  const x402 = x402In(headers)
  const isAlone = authorization === null && others.length === 0
  if (x402 && (isAlone || (route.kind === 'priced' && route.payable))) return { kind: 'payment', shown: x402 }
  return authorization === null ? otherKey(others) : authorizedBy(authorization, path)
}

/** The key or token in `Authorization`. Any other text is an unknown key. */
function authorizedBy(authorization: string, path: string): Credential {
  const bearer = bearerOf(authorization)
  if (bearer === '' && !/^bearer\b/i.test(authorization))
    return keyOf('', /\s/.test(authorization) ? 'other' : 'missing')
  return bearer.startsWith(ACCESS_TOKEN_PREFIX)
    ? { kind: 'oauth_token', hash: hashToken(bearer), audience: audienceOf(path) }
    : keyOf(bearer)
}

/** A key in another place. Some clients also send the key of a vendor. */
function otherKey(others: readonly string[]): Credential {
  const secret = others.find(looksLikeSecret) ?? others[0]
  return secret === undefined ? { kind: 'none' } : keyOf(secret)
}

function keyOf(secret: string, scheme?: 'missing' | 'other'): Credential {
  return looksLikeSecret(secret)
    ? { kind: 'api_key', hash: hashSecret(secret), problem: null }
    : { kind: 'api_key', hash: null, problem: secretProblem(secret, scheme) }
}

/** The payment in `Authorization`; null if there is none. */
function paymentIn(authorization: string | null): string | null {
  return authorization === null ? null : (/^payment +(\S+) *$/i.exec(authorization)?.[1] ?? null)
}

export function hasTwoKeys(headers: Headers, others: readonly string[]): boolean {
  if (others.length === 0) return false
  const bearer = bearerOf(headers.get('authorization') ?? '')
  return new Set([bearer, ...others].filter(looksLikeSecret)).size > 1
}

const BEARER = 'Bearer '
const SPACE = ' '

function bearerOf(authorization: string): string {
  const usual = authorization.startsWith(BEARER) ? authorization.slice(BEARER.length) : ''
  if (usual !== '' && !usual.startsWith(SPACE) && !usual.endsWith(SPACE)) return usual
  return /^bearer +(.*\S) *$/i.exec(authorization)?.[1] ?? ''
}

const NO_SECRETS: readonly string[] = []

/** Secrets found outside `Authorization`. Repeated headers arrive as one, joined by commas. */
export function otherSecrets(headers: Headers, queryKeys: readonly string[], path: string): readonly string[] {
  let found: string[] | null = null
  for (const name of path.startsWith(SEARCHES) ? SEARCH_KEY_HEADERS : KEY_HEADERS) {
    const sent = headers.get(name)
    if (!sent) continue
    found ??= []
    for (const one of sent.split(',')) found.push(one.trim())
  }
  return found === null && queryKeys.length === 0 ? NO_SECRETS : [...(found ?? []), ...queryKeys].filter(Boolean)
}

/** The payment of an x402 client: of version 2 in `PAYMENT-SIGNATURE`, of version 1 in `X-PAYMENT`. Null if there is none. */
export function x402In(headers: Headers): ShownPayment | null {
  const text = headers.get('payment-signature') ?? headers.get('x-payment')
  return text ? { scheme: 'x402', text } : null
}

/** Which protected resource a path belongs to (spec D10). */
export function audienceOf(path: string): Audience {
  if (path === '/mcp' || path.startsWith('/mcp/')) return '/mcp'
  return path.startsWith('/apis/') ? '/apis/v1' : '/v1'
}
