import type * as OpenIdClient from 'openid-client'
import type {
  AuthorizationRequest,
  CodeGrant,
  OidcProvider,
  ProvidedIdentity,
  ProviderClient,
} from '../../core/accounts/sign-in-provider'
import { HOUR_MS } from '../../core/clock'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { oauthFetch } from './oauth-fetch'

const SCOPE = 'openid email profile'
/** Keys are read again when an unknown one signs; the rest of the discovery document changes rarely. */
const KEPT_MS = HOUR_MS
const MAX_WAIT_MS = 10_000

/** An OpenID Connect issuer, found by its discovery document at its first use. */
export class OidcClient implements ProviderClient {
  private readonly provider: OidcProvider
  private readonly fetch: OutboundFetch
  private found: { readonly at: number; readonly config: OpenIdClient.Configuration } | null = null

  constructor(provider: OidcProvider, fetch: OutboundFetch) {
    this.provider = provider
    this.fetch = fetch
  }

  async authorizationUrl({ state, codeVerifier, redirectURI, nonce }: AuthorizationRequest): Promise<URL> {
    const client = await import('openid-client')
    return client.buildAuthorizationUrl(await this.configuration(), {
      scope: SCOPE,
      redirect_uri: redirectURI,
      state,
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
      ...(nonce !== null && { nonce }),
    })
  }

  async identity({
    code,
    codeVerifier,
    redirectURI,
    nonce,
  }: CodeGrant): Promise<ProvidedIdentity | 'tenant_not_allowed'> {
    const client = await import('openid-client')
    if (nonce === null) throw new Error('no nonce was expected')
    const config = await this.configuration()
    const metadata = config.serverMetadata()
    const url = new URL(redirectURI)
    url.searchParams.set('code', code)
    // Each issuer has a redirect URI of its own, and the library compares `iss` where it came.
    if (metadata.authorization_response_iss_parameter_supported) url.searchParams.set('iss', metadata.issuer)
    const tokens = await client.authorizationCodeGrant(config, url, {
      pkceCodeVerifier: codeVerifier,
      expectedNonce: nonce,
      expectedState: client.skipStateCheck,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw new Error('no ID token')
    const { tenants } = this.provider
    if (tenants !== null && !tenants.includes(textIn(claims, 'tid') ?? '')) return 'tenant_not_allowed'
    const person =
      claims['email'] === undefined && metadata.userinfo_endpoint
        ? await client.fetchUserInfo(config, tokens.access_token, claims.sub)
        : claims
    return {
      issuer: claims.iss,
      subject: claims.sub,
      email: textIn(person, 'email'),
      emailVerified: this.vouchesForEmail(person),
      name: textIn(person, 'name'),
    }
  }

  /** Entra ID says by `xms_edov` that the domain's owner was verified; its `email` alone proves nothing. */
  private vouchesForEmail(person: object): boolean {
    if (Reflect.get(person, 'email_verified') === true) return true
    const edov: unknown = Reflect.get(person, 'xms_edov')
    return this.provider.tenants !== null && (edov === true || edov === 1 || edov === '1' || edov === 'true')
  }

  private async configuration(): Promise<OpenIdClient.Configuration> {
    const client = await import('openid-client')
    const now = Date.now()
    if (this.found && now - this.found.at < KEPT_MS) return this.found.config
    const { issuer, clientId, clientSecret } = this.provider
    const isPlain = issuer.startsWith('http:')
    const config = await client.discovery(
      new URL(issuer),
      clientId,
      clientSecret,
      anyAuthentication(client, clientSecret),
      {
        [client.customFetch]: oauthFetch(this.fetch, MAX_WAIT_MS),
        // Settings allow http on private networks only by name.
        execute: [...(isPlain ? [client.allowInsecureRequests] : []), client.enableNonRepudiationChecks],
      },
    )
    this.found = { at: now, config }
    return config
  }
}

/** The client's secret in the body where the issuer takes it there, else in the header. */
function anyAuthentication(client: typeof OpenIdClient, secret: string): OpenIdClient.ClientAuth {
  const [inBody, inHeader] = [client.ClientSecretPost(secret), client.ClientSecretBasic(secret)]
  return (server, ...rest) => {
    const takesBody = server.token_endpoint_auth_methods_supported?.includes('client_secret_post') ?? false
    return (takesBody ? inBody : inHeader)(server, ...rest)
  }
}

function textIn(from: object, name: string): string | null {
  const value: unknown = Reflect.get(from, name)
  return typeof value === 'string' ? value : null
}
