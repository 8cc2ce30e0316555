import type { SignInProvider } from '../core/accounts/sign-in-provider'
import { ConfigError } from './config-error'
import { flag, group, httpUrl, invalidSetting, list, type Read, text } from './schema/setting'

const MICROSOFT = 'https://login.microsoftonline.com'
const TENANT = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
const TENANT_EXAMPLE = '11111111-2222-3333-4444-555555555555'

export const SIGN_IN = group(
  'Sign-in with other providers',
  'Each provider needs its client id and secret. Register `BASE_URL/api/auth/callback/google` there as the redirect URI, or `/microsoft`, `/github`, `/oidc`. Passwords and passkeys work next to them.',
  {
    SIGN_IN_GOOGLE_CLIENT_ID: text({ doc: 'The OAuth client of your project at Google' }),
    SIGN_IN_GOOGLE_CLIENT_SECRET: text({ secret: true, doc: 'Its secret' }),
    SIGN_IN_MICROSOFT_CLIENT_ID: text({ doc: 'The application at Microsoft Entra ID' }),
    SIGN_IN_MICROSOFT_CLIENT_SECRET: text({ secret: true, doc: 'Its secret' }),
    SIGN_IN_MICROSOFT_TENANTS: list(
      {
        example: TENANT_EXAMPLE,
        doc: 'The tenants whose people may sign in, by id, separated by commas. An address counts as confirmed if the optional claim `xms_edov` or `email_verified` says so',
      },
      (entries, name, given) => {
        if (entries.length === 0 || !entries.every((entry) => TENANT.test(entry)))
          throw invalidSetting(name, `tenant ids, such as ${TENANT_EXAMPLE}`, given)
        return entries
      },
    ),
    SIGN_IN_GITHUB_CLIENT_ID: text({ doc: 'The OAuth app at GitHub' }),
    SIGN_IN_GITHUB_CLIENT_SECRET: text({ secret: true, doc: 'Its secret' }),
    SIGN_IN_GITHUB_URL: httpUrl({
      default: 'https://github.com',
      example: 'https://github.example.com',
      doc: 'The address of a GitHub Enterprise Server',
    }),
    SIGN_IN_OIDC_ISSUER: httpUrl({
      default: null,
      example: 'https://id.example.com/realms/main',
      doc: 'Any other OpenID Connect issuer, exactly as its discovery document names it',
    }),
    SIGN_IN_OIDC_CLIENT_ID: text({ doc: 'The client there' }),
    SIGN_IN_OIDC_CLIENT_SECRET: text({ secret: true, doc: 'Its secret' }),
    SIGN_IN_OIDC_NAME: text({ default: 'single sign-on', doc: 'What people know it by: `Continue with NAME`' }),
    SIGN_IN_ALLOW_PRIVATE: flag({
      default: false,
      doc: 'Whether providers may have private addresses and use http. Link-local and metadata addresses never',
    }),
  },
)

export interface SignInSettings {
  readonly signInProviders: readonly SignInProvider[]
  /** Whether they may have private addresses, and need no https. */
  readonly signInAllowsPrivate: boolean
}

/** Reads whose identities sign in. */
export function signInSettings(read: Read): SignInSettings {
  const { settings } = SIGN_IN
  const allowsPrivate = settings.SIGN_IN_ALLOW_PRIVATE.of(read)
  const client = (name: ClientName) => clientOf(read, name)
  const secure = (name: string, url: string) => {
    if (!allowsPrivate && !url.startsWith('https:'))
      throw invalidSetting(name, 'an https URL, or SIGN_IN_ALLOW_PRIVATE must be true', url)
    return url
  }
  const issuer = settings.SIGN_IN_OIDC_ISSUER.of(read)
  const github = secure('SIGN_IN_GITHUB_URL', settings.SIGN_IN_GITHUB_URL.of(read)).replace(/\/$/, '')
  const apiUrl = github === 'https://github.com' ? 'https://api.github.com' : `${github}/api/v3`
  const [google, microsoft, hub, other] = [client('GOOGLE'), client('MICROSOFT'), client('GITHUB'), client('OIDC')]
  if ((other === null) !== (issuer === null))
    throw new ConfigError('SIGN_IN_OIDC_ISSUER, SIGN_IN_OIDC_CLIENT_ID and SIGN_IN_OIDC_CLIENT_SECRET need each other')
  return {
    signInAllowsPrivate: allowsPrivate,
    signInProviders: [
      google && {
        kind: 'oidc',
        id: 'google',
        name: 'Google',
        ...google,
        issuer: 'https://accounts.google.com',
        tenants: null,
      },
      microsoft && { kind: 'oidc', id: 'microsoft', name: 'Microsoft', ...microsoft, ...entra(read) },
      hub && { kind: 'github', id: 'github', name: 'GitHub', ...hub, url: github, apiUrl },
      other &&
        issuer !== null && {
          kind: 'oidc',
          id: 'oidc',
          name: settings.SIGN_IN_OIDC_NAME.of(read),
          ...other,
          issuer: secure('SIGN_IN_OIDC_ISSUER', issuer),
          tenants: null,
        },
    ].filter((provider): provider is SignInProvider => Boolean(provider)),
  }
}

type ClientName = 'GOOGLE' | 'MICROSOFT' | 'GITHUB' | 'OIDC'

/** The client at a provider; null if it is not set. */
function clientOf(read: Read, name: ClientName) {
  const [id, secret] = [
    SIGN_IN.settings[`SIGN_IN_${name}_CLIENT_ID`],
    SIGN_IN.settings[`SIGN_IN_${name}_CLIENT_SECRET`],
  ]
  const [clientId, clientSecret] = [id.of(read), secret.of(read)]
  if (clientId === null && clientSecret === null) return null
  if (clientId === null || clientSecret === null) throw new ConfigError(`${id.name} and ${secret.name} need each other`)
  return { clientId, clientSecret }
}

/** With one tenant its own issuer, else the one that they share. */
function entra(read: Read) {
  const tenants = SIGN_IN.settings.SIGN_IN_MICROSOFT_TENANTS.of(read)
  if (tenants === null)
    throw new ConfigError(
      `SIGN_IN_MICROSOFT_TENANTS is not set. Name whose people may sign in, such as ${TENANT_EXAMPLE}`,
    )
  const [only] = tenants
  return { issuer: `${MICROSOFT}/${tenants.length === 1 ? only : 'organizations'}/v2.0`, tenants }
}
