/** What an owner can let an app do (spec-answers 10). */
export const SCOPES = ['data:read', 'social:write', 'usage:read', 'models:use', 'keys:write', 'wallet:topup'] as const
export type Scope = (typeof SCOPES)[number]

/** The protected resources, by their path under the public origin. A token is good at those it was asked for, and nowhere else. */
export const AUDIENCES = ['/mcp', '/v1', '/apis/v1'] as const
export type Audience = (typeof AUDIENCES)[number]

/** How an access token begins, so that scanners and the door know one. */
export const ACCESS_TOKEN_PREFIX = 'gwat_'

/** What an access token stands for. */
export interface TokenGrant {
  /** The sign-in library's user. */
  readonly userId: string
  readonly clientId: string
  readonly scopes: ReadonlySet<Scope>
  readonly audiences: ReadonlySet<Audience>
  readonly expiresAt: number
}

/** An app as it describes itself. Nothing of it was verified, but for the gateway's own. */
export interface OAuthApp {
  readonly clientId: string
  /** Plain text of at most 80 characters. */
  readonly name: string
  /** Where its answers may go, scheme and host only. */
  readonly redirectHosts: readonly string[]
  /** Whether it is the gateway's own command line. */
  readonly firstParty: boolean
  readonly registeredAt: number | null
}

/** An app that holds live tokens of an owner. */
export interface GrantedApp extends OAuthApp {
  readonly scopes: ReadonlySet<Scope>
}

/**
 * What the OAuth server issued. Reads see every change whose promise has resolved: a revoked token is refused by the next
 * call.
 */
export interface OAuthGrants {
  /** The grant of an access token as it was sent, or null when it is unknown or revoked. An expired one is still found. */
  byToken(token: string): Promise<TokenGrant | null>
  /** Whether `byToken` found this token before, in this process. Costs no query and proves nothing. */
  wasGood(token: string): boolean
  app(clientId: string): Promise<OAuthApp | null>
  /** Apps that could call now, or refresh to do so. */
  apps(userId: string, now: number): Promise<readonly GrantedApp[]>
  /** Ends every token, code and consent of that app, or of all apps, in one batch. Free to repeat. */
  disconnect(userId: string, clientId: string | 'all'): Promise<void>
}
