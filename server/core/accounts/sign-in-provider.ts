interface Client {
  /** Names it in addresses. Small letters. */
  readonly id: string
  /** What people know it by. */
  readonly name: string
  readonly clientId: string
  readonly clientSecret: string
}

/** An OpenID Connect issuer. */
export interface OidcProvider extends Client {
  readonly kind: 'oidc'
  readonly issuer: string
  /** The tenants (`tid`) whose people may sign in; null where the issuer has none. */
  readonly tenants: readonly string[] | null
}

/** GitHub, which speaks OAuth 2.0 and is asked for the verified addresses. */
export interface GithubProvider extends Client {
  readonly kind: 'github'
  readonly url: string
  readonly apiUrl: string
}

/** Whose identities sign in, next to passwords and passkeys. */
export type SignInProvider = OidcProvider | GithubProvider

/** A person as a provider vouches for them. */
export interface ProvidedIdentity {
  /** Who says so, and what it calls them: together they are the identity. */
  readonly issuer: string
  readonly subject: string
  readonly email: string | null
  readonly emailVerified: boolean
  readonly name: string | null
}

/** A code that the provider sent back, and what proves that this browser asked for it. */
export interface CodeGrant {
  readonly code: string
  readonly codeVerifier: string
  readonly redirectURI: string
  /** Null where the provider has no ID tokens. */
  readonly nonce: string | null
}

/** What a browser is sent to a provider with. */
export interface AuthorizationRequest extends Omit<CodeGrant, 'code'> {
  readonly state: string
}

/** Asks a provider who somebody is. Throws if it does not answer, or not as it must; the error holds no secret. */
export interface ProviderClient {
  authorizationUrl(asked: AuthorizationRequest): Promise<URL>
  /** Exchanges the code, once, and verifies all that comes back. `tenant_not_allowed`: of an organization that may not sign in. */
  identity(grant: CodeGrant): Promise<ProvidedIdentity | 'tenant_not_allowed'>
}
