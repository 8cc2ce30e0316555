import type * as OpenIdClient from 'openid-client'
import type {
  AuthorizationRequest,
  CodeGrant,
  GithubProvider,
  ProvidedIdentity,
  ProviderClient,
} from '../../core/accounts/sign-in-provider'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { oauthFetch } from './oauth-fetch'

const SCOPE = 'read:user user:email'
const MAX_WAIT_MS = 10_000

/** GitHub speaks OAuth 2.0 without OpenID Connect: its API says who somebody is, and which addresses they confirmed. */
export class GithubClient implements ProviderClient {
  private readonly provider: GithubProvider
  private readonly fetch: OutboundFetch

  constructor(provider: GithubProvider, fetch: OutboundFetch) {
    this.provider = provider
    this.fetch = fetch
  }

  async authorizationUrl({ state, codeVerifier, redirectURI }: AuthorizationRequest): Promise<URL> {
    const client = await import('openid-client')
    return client.buildAuthorizationUrl(this.configuration(client), {
      scope: SCOPE,
      redirect_uri: redirectURI,
      state,
      code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
      code_challenge_method: 'S256',
    })
  }

  async identity({ code, codeVerifier, redirectURI }: CodeGrant): Promise<ProvidedIdentity> {
    const client = await import('openid-client')
    const config = this.configuration(client)
    const url = new URL(redirectURI)
    url.searchParams.set('code', code)
    const { access_token: token } = await client.authorizationCodeGrant(config, url, {
      pkceCodeVerifier: codeVerifier,
      expectedState: client.skipStateCheck,
    })
    const read = async (path: string): Promise<unknown> => {
      const answer = await client.fetchProtectedResource(config, token, new URL(this.provider.apiUrl + path), 'GET')
      if (!answer.ok) throw new Error(`the API answered ${answer.status}`)
      return answer.json()
    }
    const [user, emails] = await Promise.all([read('/user'), read('/user/emails')])
    const { id, name, login } = Object(user)
    if (!Number.isSafeInteger(id)) throw new Error('the API named no user')
    const verified = (Array.isArray(emails) ? emails : []).filter((one) => Object(one).verified === true)
    const { email } = Object(verified.find(({ primary }) => primary === true) ?? verified[0])
    return {
      issuer: this.provider.url,
      subject: String(id),
      email: typeof email === 'string' ? email : null,
      emailVerified: typeof email === 'string',
      name: typeof name === 'string' ? name : String(login),
    }
  }

  private configuration(client: typeof OpenIdClient): OpenIdClient.Configuration {
    const { url, clientId, clientSecret } = this.provider
    const config = new client.Configuration(
      {
        issuer: url,
        authorization_endpoint: `${url}/login/oauth/authorize`,
        token_endpoint: `${url}/login/oauth/access_token`,
      },
      clientId,
      clientSecret,
    )
    config[client.customFetch] = oauthFetch(this.fetch, MAX_WAIT_MS)
    // Settings allow http on private networks only by name.
    if (url.startsWith('http:')) client.allowInsecureRequests(config)
    return config
  }
}
