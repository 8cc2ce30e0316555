/** What an app may ask of a linked account (spec 4.3), in the order in which it is shown. */
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

/** Every route of the network needs these two, so a narrowed set has them all the same (facts/upstreams 5.3). */
const ALWAYS: readonly SocialScope[] = ['tweet.read', 'users.read']

/** Without it the network gives no refresh token, and the session would end after two hours. It is no scope of a caller's. */
export const OFFLINE_ACCESS = 'offline.access'

export function isSocialScope(name: string): name is SocialScope {
  return (SOCIAL_SCOPES as readonly string[]).includes(name)
}

/** The scopes of a caller's wish with what must be there, each once, in their own order. Nothing wished for means all. */
export function completed(wished: readonly SocialScope[]): readonly SocialScope[] {
  if (wished.length === 0) return SOCIAL_SCOPES
  return SOCIAL_SCOPES.filter((scope) => wished.includes(scope) || ALWAYS.includes(scope))
}

/** What the network granted, as far as we know its words. `granted` is the space separated list of its answer (RFC 6749 3.3). */
export function grantedScopes(granted: string): readonly SocialScope[] {
  const words = granted.split(/\s+/)
  return SOCIAL_SCOPES.filter((scope) => words.includes(scope))
}
