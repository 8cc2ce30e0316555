import { PRICE_NAMES } from '../core/catalog/operations'
import type { Money } from '../core/money'
import { ConfigError } from './config-error'
import { costs } from './costs'
import { choice, group, httpUrl, invalidSetting, type Read, text } from './schema/setting'

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
      /** The operator's cost of a unit, by the name of its price. Absent: not known. */
      readonly costs: ReadonlyMap<string, Money>
    }

const COSTS_EXAMPLE = 'social-post=0.01,social-user=0.005'

export const SOCIAL = group('Social network', 'More in [social-network.md](social-network.md).', {
  SOCIAL_PROVIDER: choice({
    default: null,
    otherwise: '`sandbox`, in production `none`',
    values: ['sandbox', 'x', 'none'],
    doc: 'Where linked social accounts live. `sandbox`: a small network inside the gateway, at `/sandbox/social`; `x`; `none`. In production, name a sandbox explicitly',
  }),
  X_CLIENT_ID: text({ doc: 'The OAuth 2.0 client of your app at X; needed for `x`' }),
  X_CLIENT_SECRET: text({ secret: true, doc: 'Its secret; without one the app is a public client' }),
  X_API_URL: httpUrl({
    default: 'https://api.x.com',
    example: 'https://api.x.com',
    doc: 'Another base URL of the same API',
  }),
  X_AUTHORIZE_URL: httpUrl({
    default: 'https://x.com/i/oauth2/authorize',
    example: 'https://x.com/i/oauth2/authorize',
    doc: 'Another address where people approve your app',
  }),
  SOCIAL_COSTS_USD: costs(
    {
      example: COSTS_EXAMPLE,
      doc: `Your cost at X for each success, by operation, for [reports on margin](operating/money.md#revenue-and-margin): \`${COSTS_EXAMPLE}\`; \`social-post-with-address\` for posts with a URL, \`social-dm-threads\` for each message. Others count as unknown`,
    },
    (name) => PRICE_NAMES.find((known) => known === name && known.startsWith('social-')),
    'social operations with what each costs in USD',
  ),
})

/** Reads which social network to use. The sandbox is the default, except in production. */
export function socialConfig(read: Read, production: boolean): SocialConfig {
  const { settings } = SOCIAL
  const upstreamCosts = settings.SOCIAL_COSTS_USD.of(read) ?? new Map()
  const provider = settings.SOCIAL_PROVIDER.of(read) ?? (production ? 'none' : 'sandbox')
  if (provider !== 'x') return { provider }
  const clientId = settings.X_CLIENT_ID.of(read)
  if (clientId === null)
    throw new ConfigError('X_CLIENT_ID is not set, but SOCIAL_PROVIDER=x needs it: the OAuth 2.0 client id of your app')
  return {
    provider,
    clientId,
    clientSecret: settings.X_CLIENT_SECRET.of(read),
    costs: upstreamCosts,
    apiUrl: address('X_API_URL', settings.X_API_URL.of(read), production),
    authorizeUrl: address('X_AUTHORIZE_URL', settings.X_AUTHORIZE_URL.of(read), production),
  }
}

/** A URL that tokens are sent to, so production requires TLS. */
function address(name: string, url: string, production: boolean): string {
  if (production && !url.startsWith('https:'))
    throw invalidSetting(name, 'an https URL in production, such as https://api.example.com', url)
  return url.replace(/\/$/, '')
}
