import { ACCESS_TOKEN_PREFIX } from '../core/credentials/oauth-grant'
import { looksLikeSecret } from '../core/credentials/secret'
import { pathOf } from './middleware/request-context'
import type { EndpointTable } from './routing/endpoint-table'

/** In characters: what the frame of an admit has room for. */
const LONGEST_URL = 4096
/** A sold endpoint that the primary serves: its calls take many steps. */
const OF_PRIMARY = 'deep-research'
/** Where a key may be besides `Authorization`, and what else makes a call one of the primary's. */
const OTHER_KEYS = ['x-api-key', 'x-goog-api-key', 'api-key', 'x-subscription-token']
const BEYOND_A_CALL = ['idempotency-key', 'x-cost-mode', 'payment-signature', 'x-payment']

/**
 * Whether a worker answers a request itself: a paid call with one well-formed key or access token in a header, and nothing about it that only
 * the primary knows. All else is passed on whole.
 */
export function isServedHere({ method, url, headers }: Request, endpoints: EndpointTable): boolean {
  if (url.length > LONGEST_URL || !hasOneCredential(headers)) return false
  if (BEYOND_A_CALL.some((name) => headers.has(name))) return false
  const { route } = endpoints.match(method, pathOf(url))
  return route.kind === 'priced' && route.operation !== OF_PRIMARY
}

function hasOneCredential(headers: Headers): boolean {
  const authorization = headers.get('authorization')
  const others = OTHER_KEYS.flatMap((name) => headers.get(name) ?? [])
  if (authorization === null) return others.length === 1 && looksLikeSecret(others[0] ?? '')
  if (others.length > 0) return false
  const bearer = /^bearer +(\S+)$/i.exec(authorization)?.[1] ?? ''
  return bearer.startsWith(ACCESS_TOKEN_PREFIX) || looksLikeSecret(bearer)
}
