import { type ClientDiscovery, oauthDeviceAuthorization, oauthProvider } from '@better-auth/oauth-provider'
import type { BetterAuthPlugin } from 'better-auth'
import { ACCESS_TOKEN_PREFIX, REFRESH_TOKEN_PREFIX, SCOPES } from '../../../core/credentials/oauth-grant'

/** The CLI's client: seeded by the gateway, never registered by a caller. */
export const CLI_CLIENT_ID = 'gateway-cli'

const HOUR_SECONDS = 60 * 60
const MINUTE_SECONDS = 60
/** How long a client may repeat a refresh whose response it lost, or that two of its processes sent at once. */
const REFRESH_GRACE_SECONDS = 30

export const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code'

/** The scopes that an app may request: `offline_access` gives it a refresh token. */
export const ALL_SCOPES: readonly string[] = [...SCOPES, 'offline_access']

/**
 * The OAuth 2.1 server. `mcp()` of @better-auth/mcp is this provider with one resource and its RFC 9728 document; there are three
 * resources here, and the documents are our own routes, so the provider is used directly. Access tokens are opaque: a revocation
 * applies to the next call, which a signed token cannot guarantee.
 */
export function oauthPlugins(origin: string, clientDiscovery: ClientDiscovery | null): BetterAuthPlugin[] {
  const plugins = [
    oauthProvider({
      loginPage: '/sign-in',
      consentPage: '/consent',
      // The resources are rows that prepareOAuth writes: a seed by the library runs when it is opened, and one that fails there
      // would leave sign-in broken until a restart.
      // All resources are this service's own; scopes tell apps apart. Links per client would break when BASE_URL changes.
      enforcePerClientResources: false,
      disableJwtPlugin: true,
      scopes: [...ALL_SCOPES],
      grantTypes: ['authorization_code', 'refresh_token'],
      extensions: clientDiscovery ? [{ clientDiscovery }] : [],
      allowDynamicClientRegistration: true,
      allowUnauthenticatedClientRegistration: true,
      accessTokenExpiresIn: HOUR_SECONDS,
      refreshTokenExpiresIn: 30 * 24 * HOUR_SECONDS,
      refreshTokenReuseInterval: REFRESH_GRACE_SECONDS,
      codeExpiresIn: 2 * MINUTE_SECONDS,
      prefix: { opaqueAccessToken: ACCESS_TOKEN_PREFIX, refreshToken: REFRESH_TOKEN_PREFIX, clientSecret: 'gwcs_' },
      // Our own pages show what is needed; client and resource records cannot be edited.
      clientPrivileges: () => false,
      resourcePrivileges: () => false,
      rateLimit: {
        token: { window: MINUTE_SECONDS, max: 60 },
        authorize: { window: MINUTE_SECONDS, max: 60 },
        register: { window: MINUTE_SECONDS, max: 5 },
        revoke: { window: MINUTE_SECONDS, max: 60 },
        introspect: { window: MINUTE_SECONDS, max: 60 },
      },
    }),
    oauthDeviceAuthorization({ verificationUri: `${origin}/device`, expiresIn: '10m', interval: '5s' }),
  ]
  // The packages' own types do not agree under exactOptionalPropertyTypes (an absent member is written as undefined).
  return plugins as unknown as BetterAuthPlugin[]
}
