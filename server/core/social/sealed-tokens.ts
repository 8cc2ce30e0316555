import type { SocialLinkId, SocialSessionId } from '../ids'
import type { Place, Sealing } from '../sealing'
import type { Grant } from './network'
import type { SessionTokens, SocialSession } from './session'

/** The place of a link's code verifier. */
export function verifierPlace(link: SocialLinkId): Place {
  return { table: 'social_links', row: link, column: 'verifier' }
}

/** Seals what the network granted to a session. A refresh that gave no new refresh token keeps the one before (RFC 6749 6). */
export function sealedTokens(
  sealing: Sealing,
  session: SocialSessionId,
  grant: Grant,
  now: number,
  refreshBefore: string | null = null,
): SessionTokens {
  const refresh = grant.refresh ?? refreshBefore
  return {
    access: sealing.seal(grant.access, tokenPlace(session, 'access_token')),
    refresh: refresh === null ? null : sealing.seal(refresh, tokenPlace(session, 'refresh_token')),
    accessExpiresAt: now + grant.expiresInSeconds * 1000,
  }
}

/** The same tokens under the newest key; null when they are already. Throws `Unsealable`. */
export function resealedTokens(sealing: Sealing, { id, tokens }: SocialSession): SessionTokens | null {
  const again = (sealed: string, column: Parameters<typeof tokenPlace>[1]) => {
    const { text, stale } = sealing.open(sealed, tokenPlace(id, column))
    return stale ? sealing.seal(text, tokenPlace(id, column)) : sealed
  }
  const access = again(tokens.access, 'access_token')
  const refresh = tokens.refresh === null ? null : again(tokens.refresh, 'refresh_token')
  return access === tokens.access && refresh === tokens.refresh ? null : { ...tokens, access, refresh }
}

export function accessToken(sealing: Sealing, { id, tokens }: SocialSession): string {
  return sealing.open(tokens.access, tokenPlace(id, 'access_token')).text
}

export function refreshToken(sealing: Sealing, { id, tokens }: SocialSession): string | null {
  return tokens.refresh === null ? null : sealing.open(tokens.refresh, tokenPlace(id, 'refresh_token')).text
}

/** The token by which the network ends the whole grant. */
export function grantToken(sealing: Sealing, session: SocialSession): string {
  return refreshToken(sealing, session) ?? accessToken(sealing, session)
}

function tokenPlace(session: SocialSessionId, column: 'access_token' | 'refresh_token'): Place {
  return { table: 'social_sessions', row: session, column }
}
