import type { Credential } from '../gateway/call'

/**
 * What the caller showed (spec 5.1): `Authorization: Bearer`; on `/v1/messages` also `x-api-key`, on `/v1beta/*` also
 * `x-goog-api-key`. An `Authorization` of another scheme is a credential that nobody knows, never "none".
 */
export function presentedCredential(headers: Headers, path: string): Credential {
  const authorization = headers.get('authorization')
  if (authorization !== null) {
    const bearer = /^bearer +(\S+) *$/i.exec(authorization)
    return { kind: 'api_key', secret: bearer?.[1] ?? '' }
  }
  const named = path === '/v1/messages' ? 'x-api-key' : path.startsWith('/v1beta/') ? 'x-goog-api-key' : null
  const secret = named && headers.get(named)
  return secret ? { kind: 'api_key', secret } : { kind: 'none' }
}
