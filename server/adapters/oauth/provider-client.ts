import type { ProviderClient, SignInProvider } from '../../core/accounts/sign-in-provider'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { GithubClient } from './github-client'
import { codeOf } from './oauth-fetch'
import { OidcClient } from './oidc-client'

/** The client of a provider. Its errors say why by a code. */
export function openProviderClient(provider: SignInProvider, fetch: OutboundFetch): ProviderClient {
  const client = provider.kind === 'oidc' ? new OidcClient(provider, fetch) : new GithubClient(provider, fetch)
  const coded = <T>(answer: Promise<T>): Promise<T> =>
    answer.catch((error: unknown) => {
      throw new Error(codeOf(error))
    })
  return {
    authorizationUrl: (asked) => coded(client.authorizationUrl(asked)),
    identity: (grant) => coded<Awaited<ReturnType<ProviderClient['identity']>>>(client.identity(grant)),
  }
}
