import { ACCESS_TOKEN_PREFIX, type TokenGrant } from '../../../core/credentials/oauth-grant'
import { isJson } from '../../../core/json'

/** An app's question about a token, once the library has authenticated the app. */
export interface IntrospectionCall {
  readonly token: string
  readonly clientId: string | null
}

/** The members of an introspection (RFC 7662 2.2). Nothing about the owner: an app needs no name for it. */
const RETURNED_MEMBERS = ['active', 'client_id', 'scope', 'token_type', 'exp', 'iat', 'iss', 'aud']

const INACTIVE = { active: false }

/** The app's id and the token in a form; the id is in `Authorization` or in the form (RFC 6749 2.3.1). */
export function introspectionIn(form: URLSearchParams, authorization: string | null): IntrospectionCall {
  const basic = /^basic +(\S+) *$/i.exec(authorization ?? '')?.[1]
  const id = basic === undefined ? form.get('client_id') : Buffer.from(basic, 'base64').toString().split(':')[0]
  return { token: form.get('token') ?? '', clientId: id === undefined || id === null ? null : plain(id) }
}

/**
 * The answer to an app about a token: of its own ones only. For access tokens it is what the gateway itself goes by; the library
 * would also call those inactive whose owner has signed out since.
 */
export async function introspected(
  call: IntrospectionCall,
  library: unknown,
  { byToken, issuer, now }: { byToken(token: string): Promise<TokenGrant | null>; issuer: string; now: number },
): Promise<object> {
  const { token, clientId } = call
  if (clientId === null) return INACTIVE
  if (!token.startsWith(ACCESS_TOKEN_PREFIX)) {
    if (!isJson(library) || library['active'] !== true || library['client_id'] !== clientId) return INACTIVE
    return Object.fromEntries(Object.entries(library).filter(([name]) => RETURNED_MEMBERS.includes(name)))
  }
  const grant = await byToken(token)
  if (!grant || grant.clientId !== clientId || grant.expiresAt <= now) return INACTIVE
  const { origin } = new URL(issuer)
  return {
    active: true,
    client_id: clientId,
    scope: [...grant.scopes].join(' '),
    token_type: 'Bearer',
    exp: Math.floor(grant.expiresAt / 1000),
    iss: issuer,
    aud: [...grant.audiences].map((path) => origin + path),
  }
}

function plain(id: string): string {
  try {
    return decodeURIComponent(id)
  } catch {
    return id
  }
}
