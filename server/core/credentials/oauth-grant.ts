import { hash } from 'node:crypto'

/** The scopes that an owner can grant to an app (spec D10). */
export const SCOPES = [
  'data:read',
  'social:write',
  'apis:write',
  'usage:read',
  'models:use',
  'keys:write',
  'webhooks:write',
  'wallet:topup',
] as const
export type Scope = (typeof SCOPES)[number]

/** The protected resources, as paths of the public origin. A token is valid only for the resources that it was requested for. */
export const AUDIENCES = ['/mcp', '/v1', '/apis/v1'] as const
export type Audience = (typeof AUDIENCES)[number]

/** The prefix of access tokens, by which the gateway and secret scanners recognise them. */
export const ACCESS_TOKEN_PREFIX = 'gwat_'
export const REFRESH_TOKEN_PREFIX = 'gwrt_'

/** The form in which the sign-in library stores an access or refresh token. Both prefixes have the same length. */
export function hashToken(token: string): string {
  return hash('sha256', token.slice(ACCESS_TOKEN_PREFIX.length), 'base64url')
}

export interface TokenHolder {
  /** The user's id in the sign-in library. */
  readonly userId: string
  readonly clientId: string
}

/** The grant of an access token. */
export interface TokenGrant extends TokenHolder {
  readonly scopes: ReadonlySet<Scope>
  readonly audiences: ReadonlySet<Audience>
  readonly expiresAt: number
}

/** An app's description of itself. Nothing in it is verified, but `documentHost` and the gateway's own command line. */
export interface OAuthApp {
  readonly clientId: string
  /** Plain text of at most 80 characters. */
  readonly name: string
  /** Scheme and host of its redirect URIs. */
  readonly redirectHosts: readonly string[]
  /** The host that published this description, when `clientId` is the URL of it; null for an app that registered. */
  readonly documentHost: string | null
  /** Whether it is the gateway's own command line. */
  readonly firstParty: boolean
  readonly registeredAt: number | null
}

/** An app with active tokens of an owner. */
export interface GrantedApp extends OAuthApp {
  readonly scopes: ReadonlySet<Scope>
}

/**
 * The grants that the OAuth server issued. Reads see every change whose promise has resolved, so a revoked token is refused on the
 * next call.
 */
export interface OAuthGrants {
  /** The grant of an access token, by its hash (`hashToken`), or null when it is unknown or revoked. Finds expired tokens too. */
  byHash(hash: string): Promise<TokenGrant | null>
  /** The same grant from memory, if nothing that it depends on was written since it was read; otherwise null: ask `byHash`. */
  inMemory(hash: string): TokenGrant | null
  /** Whether `byHash` found this token before in this process. Needs no query, but does not prove that it is still valid. */
  wasGood(hash: string): boolean
  app(clientId: string): Promise<OAuthApp | null>
  /** The owner and the app of an access or refresh token, whether or not it is still valid; null for any other text. */
  holder(token: string): Promise<TokenHolder | null>
  /** Apps that can call now, or could after a refresh. */
  apps(userId: string, now: number): Promise<readonly GrantedApp[]>
  /** Deletes all tokens, codes and consents of one app or of all apps in one batch. Idempotent. */
  disconnect(userId: string, clientId: string | 'all'): Promise<void>
}
