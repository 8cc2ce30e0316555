import type { SocialLinkId, SocialSessionId } from '../ids'
import type { SealContext, Sealing } from '../sealing'
import type { Grant } from './network'
import type { SessionTokens, SocialSession } from './session'

/** The context that seals a link's code verifier. */
export function verifierContext(link: SocialLinkId): SealContext {
  return { table: 'social_links', row: link, column: 'verifier' }
}

/** Seals the tokens of a grant. If a renewal returns no new refresh token, the previous one is kept (RFC 6749 6). */
export function sealedTokens(
  sealing: Sealing,
  session: SocialSessionId,
  grant: Grant,
  now: number,
  previousRefresh: string | null = null,
): SessionTokens {
  const refresh = grant.refresh ?? previousRefresh
  return {
    access: sealing.seal(grant.access, tokenContext(session, 'access_token')),
    refresh: refresh === null ? null : sealing.seal(refresh, tokenContext(session, 'refresh_token')),
    accessExpiresAt: now + grant.expiresInSeconds * 1000,
  }
}

/** The same tokens sealed with the newest key; null when they already are. Throws `Unsealable`. */
export function resealedTokens(sealing: Sealing, { id, tokens }: SocialSession): SessionTokens | null {
  const again = (sealed: string, column: Parameters<typeof tokenContext>[1]) => {
    const { text, stale } = sealing.open(sealed, tokenContext(id, column))
    return stale ? sealing.seal(text, tokenContext(id, column)) : sealed
  }
  const access = again(tokens.access, 'access_token')
  const refresh = tokens.refresh === null ? null : again(tokens.refresh, 'refresh_token')
  return access === tokens.access && refresh === tokens.refresh ? null : { ...tokens, access, refresh }
}

export function accessToken(sealing: Sealing, { id, tokens }: SocialSession): string {
  return sealing.open(tokens.access, tokenContext(id, 'access_token')).text
}

export function refreshToken(sealing: Sealing, { id, tokens }: SocialSession): string | null {
  return tokens.refresh === null ? null : sealing.open(tokens.refresh, tokenContext(id, 'refresh_token')).text
}

/** The token whose revocation ends the whole grant. */
export function grantToken(sealing: Sealing, session: SocialSession): string {
  return refreshToken(sealing, session) ?? accessToken(sealing, session)
}

function tokenContext(session: SocialSessionId, column: 'access_token' | 'refresh_token'): SealContext {
  return { table: 'social_sessions', row: session, column }
}
