import type { BetterAuthPlugin } from 'better-auth'
import { APIError, createAuthMiddleware, getOAuthState } from 'better-auth/api'
import type { OAuth2Tokens, OAuthProvider } from 'better-auth/oauth2'
import { readEmail } from '../../../core/accounts/mails/email-change'
import type { CodeGrant, SignInProvider } from '../../../core/accounts/sign-in-provider'
import { isPlainLine } from '../../../core/plain-text'
import { CALLBACK_PATH } from '../auth-request'
import type { IdentityOptions } from '../identity-options'
import { freeStrandedEmail } from '../stranded-email'

const MAX_NAME_CHARACTERS = 200

interface Parts {
  readonly options: Pick<IdentityOptions, 'db' | 'providers' | 'openProvider'>
  readonly origin: string
  /** Failures are reported. */
  readonly guarded: (what: string, act: () => Promise<void>) => Promise<void>
}

/**
 * Makes providers known to the library, which keeps state, PKCE verifier and nonce, and links identities. It gets no token: the code is
 * exchanged where the nonce is known, and nothing of it is stored.
 */
export function identityProviders(parts: Parts): BetterAuthPlugin {
  const providers = (parts.options.providers ?? []).map((provider) => libraryProvider(provider, parts))
  return {
    id: 'identity-providers',
    init: () => ({ context: { socialProviders: providers } }),
    hooks: {
      after: [
        {
          matcher: ({ path }) => path === CALLBACK_PATH,
          handler: createAuthMiddleware(async (ctx) => {
            if (Reflect.get(Object(ctx.context.returned), 'twoFactorRedirect') !== true) return
            const { errorURL } = (await getOAuthState()) ?? {}
            const page = new URL(errorURL ?? '/sign-in', parts.origin)
            page.searchParams.set('second_factor', 'required')
            throw ctx.redirect(page.href)
          }),
        },
      ],
    },
  }
}

function libraryProvider(provider: SignInProvider, { options, guarded }: Parts): OAuthProvider {
  if (!options.openProvider) throw new Error('providers of sign-in need openProvider')
  const client = options.openProvider(provider)
  const failed = (error: unknown) => guarded(`sign-in with ${provider.name}`, () => Promise.reject(error))
  return {
    id: provider.id,
    name: provider.name,
    // No `idToken` here: without one the library accepts no token that a caller brings along.
    requiresIdTokenNonce: provider.kind === 'oidc',
    accountSubject: ({ profile }) => `${Reflect.get(profile, 'issuer')} ${Reflect.get(profile, 'subject')}`,
    async createAuthorizationURL({ state, codeVerifier, redirectURI, idTokenNonce = null }) {
      try {
        return await client.authorizationUrl({ state, codeVerifier, redirectURI, nonce: idTokenNonce })
      } catch (error) {
        await failed(error)
        throw new APIError('FAILED_DEPENDENCY', {
          code: 'PROVIDER_UNAVAILABLE',
          message: `${provider.name} is not responding. Try again, or sign in another way.`,
        })
      }
    },
    validateAuthorizationCode: async ({ code, codeVerifier = '', redirectURI }) => ({
      raw: { code, codeVerifier, redirectURI },
    }),
    async getUserInfo({ raw, expectedIdTokenNonce: nonce = null }) {
      try {
        const found = await client.identity({ ...grantIn(raw), nonce })
        if (found === 'tenant_not_allowed')
          throw new APIError('FORBIDDEN', {
            code: 'TENANT_NOT_ALLOWED',
            message: `People of this organization cannot sign in here with ${provider.name}.`,
          })
        const email = found.email === null ? null : readEmail(found.email)
        if (email !== null) await freeStrandedEmail(options.db, { email }, Date.now())
        return {
          user: { name: nameOf(found.name, email), email, emailVerified: found.emailVerified },
          data: { issuer: found.issuer, subject: found.subject },
        }
      } catch (error) {
        if (error instanceof APIError) throw error
        await failed(error)
        return null
      }
    },
  }
}

function grantIn(raw: OAuth2Tokens['raw']): Omit<CodeGrant, 'nonce'> {
  return {
    code: String(raw?.['code']),
    codeVerifier: String(raw?.['codeVerifier']),
    redirectURI: String(raw?.['redirectURI']),
  }
}

function nameOf(name: string | null, email: string | null): string {
  const given = [...(name ?? '').trim()].slice(0, MAX_NAME_CHARACTERS).join('')
  return given !== '' && isPlainLine(given) ? given : (email?.split('@', 1)[0] ?? '')
}
