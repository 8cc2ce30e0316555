/** The scopes that an app may request (spec 4.3), in display order. */
export const SOCIAL_SCOPES = [
  'follows.write',
  'tweet.read',
  'users.read',
  'tweet.write',
  'like.write',
  'dm.read',
  'dm.write',
] as const

export type SocialScope = (typeof SOCIAL_SCOPES)[number]

export const SCOPE_MEANINGS: Readonly<Record<SocialScope, string>> = {
  'follows.write': 'Follow and unfollow',
  'tweet.read': 'Read posts',
  'users.read': 'Read profiles',
  'tweet.write': 'Post, reply and quote',
  'like.write': 'Like and unlike',
  'dm.read': 'Read messages',
  'dm.write': 'Send messages',
}

/** Every endpoint of the network needs these two, so they are always requested. */
const ALWAYS: readonly SocialScope[] = ['tweet.read', 'users.read']

/** Without it the network issues no refresh token, and the session ends after two hours. Callers do not request it themselves. */
export const OFFLINE_ACCESS = 'offline.access'

export function isSocialScope(name: string): name is SocialScope {
  return (SOCIAL_SCOPES as readonly string[]).includes(name)
}

/** The requested scopes plus the required ones, in display order. An empty list means all scopes. */
export function withRequiredScopes(requested: readonly SocialScope[]): readonly SocialScope[] {
  if (requested.length === 0) return SOCIAL_SCOPES
  return SOCIAL_SCOPES.filter((scope) => requested.includes(scope) || ALWAYS.includes(scope))
}

/** The granted scopes that we know. `granted` is the network's list, separated by spaces (RFC 6749 3.3). */
export function grantedScopes(granted: string): readonly SocialScope[] {
  const words = granted.split(/\s+/)
  return SOCIAL_SCOPES.filter((scope) => words.includes(scope))
}
