import { ACCESS_TOKEN_PREFIX } from '../../core/credentials/oauth-grant'
import type { Credential, Route } from '../../pipeline/call'
import { isGooglePath } from '../routing/google-path'
import { audienceOf } from './audience'

/**
 * The caller's credential (spec 5.1, 5.3). `Authorization: Bearer` carries a key or an app's access token; `/v1/messages` also takes
 * `x-api-key`, and Google's paths `x-goog-api-key`. `Authorization: Payment` and x402's `PAYMENT-SIGNATURE` pay for one request.
 * After a 402, x402 clients send the payment along with the original key; where payments are accepted, the payment wins.
 * An `Authorization` with another scheme is an unknown credential, never "none".
 */
export function readCredential(headers: Headers, path: string, route: Route): Credential {
  const authorization = headers.get('authorization')
  const payment = authorization === null ? null : /^payment +(\S+) *$/i.exec(authorization)
  if (payment?.[1]) return { kind: 'payment', shown: { scheme: 'payment', text: payment[1] } }
  const x402 = headers.get('payment-signature')
  if (x402 && (authorization === null || (route.kind === 'priced' && route.payable)))
    return { kind: 'payment', shown: { scheme: 'x402', text: x402 } }
  if (authorization !== null) {
    const bearer = /^bearer +(\S+) *$/i.exec(authorization)?.[1] ?? ''
    if (bearer.startsWith(ACCESS_TOKEN_PREFIX))
      return { kind: 'oauth_token', token: bearer, audience: audienceOf(path) }
    return { kind: 'api_key', secret: bearer }
  }
  const named = path === '/v1/messages' ? 'x-api-key' : isGooglePath(path) ? 'x-goog-api-key' : null
  const secret = named && headers.get(named)
  return secret ? { kind: 'api_key', secret } : { kind: 'none' }
}
