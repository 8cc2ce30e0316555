import { ACCESS_TOKEN_PREFIX, type Audience } from '../core/credentials/oauth-grant'
import type { Credential } from '../gateway/call'
import { isGooglePath } from './google-path'

/**
 * What the caller showed (spec 5.1, 5.3): `Authorization: Bearer`, a key or an app's access token; on `/v1/messages` also `x-api-key`, on Google's paths also
 * `x-goog-api-key`. `Authorization: Payment` and x402's `PAYMENT-SIGNATURE` pay for one request.
 * An `Authorization` of another scheme is a credential that nobody knows, never "none".
 */
export function presentedCredential(headers: Headers, url: string, path: string): Credential {
  const authorization = headers.get('authorization')
  if (authorization !== null) {
    const payment = /^payment +(\S+) *$/i.exec(authorization)
    if (payment?.[1]) return { kind: 'payment', shown: { scheme: 'payment', text: payment[1] } }
    const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    if (bearer.startsWith(ACCESS_TOKEN_PREFIX))
      return { kind: 'oauth_token', token: bearer, audience: audienceOf(path) }
    return { kind: 'api_key', secret: bearer }
  }
  const x402 = headers.get('payment-signature')
  if (x402) return { kind: 'payment', shown: { scheme: 'x402', text: x402, url } }
  const named = path === '/v1/messages' ? 'x-api-key' : isGooglePath(path) ? 'x-goog-api-key' : null
  const secret = named && headers.get(named)
  return secret ? { kind: 'api_key', secret } : { kind: 'none' }
}

/** Which protected resource a path belongs to (spec-answers 10). */
function audienceOf(path: string): Audience {
  if (path === '/mcp' || path.startsWith('/mcp/')) return '/mcp'
  return path.startsWith('/apis/') ? '/apis/v1' : '/v1'
}
