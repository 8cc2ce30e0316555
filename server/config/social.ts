import { ConfigError } from './config-error'

export type SocialConfig =
  | { readonly provider: 'sandbox' }
  | { readonly provider: 'none' }
  | {
      readonly provider: 'x'
      readonly clientId: string
      /** Null for a public client. */
      readonly clientSecret: string | null
      readonly apiUrl: string
      readonly authorizeUrl: string
    }

/** Reads which social network to use. The sandbox is the default, except in production. */
export function socialConfig(read: (name: string) => string | null, production: boolean): SocialConfig {
  const provider = read('SOCIAL_PROVIDER') ?? (production ? 'none' : 'sandbox')
  if (provider === 'sandbox' || provider === 'none') return { provider }
  if (provider !== 'x') throw new ConfigError(`SOCIAL_PROVIDER must be one of sandbox, x, none, not "${provider}"`)
  const clientId = read('X_CLIENT_ID')
  if (clientId === null)
    throw new ConfigError('X_CLIENT_ID is not set, but SOCIAL_PROVIDER=x needs it: the OAuth 2.0 client id of your app')
  return {
    provider,
    clientId,
    clientSecret: read('X_CLIENT_SECRET'),
    apiUrl: address('X_API_URL', read('X_API_URL') ?? 'https://api.x.com', production),
    authorizeUrl: address('X_AUTHORIZE_URL', read('X_AUTHORIZE_URL') ?? 'https://x.com/i/oauth2/authorize', production),
  }
}

/** A URL that tokens are sent to, so production requires TLS. */
function address(name: string, text: string, production: boolean): string {
  const url = URL.parse(text)
  const protocols = production ? ['https:'] : ['https:', 'http:']
  if (!url || !protocols.includes(url.protocol) || url.search || url.hash || url.username)
    throw new ConfigError(`${name} must be a URL such as https://api.example.com, not "${text}"`)
  return url.href.replace(/\/$/, '')
}
