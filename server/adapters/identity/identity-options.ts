import type { IdentityCaller, SignedUpUser } from '../../core/accounts/identity'
import type { ProviderClient, SignInProvider } from '../../core/accounts/sign-in-provider'
import type { Clock } from '../../core/clock'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import type { IdentityDatabase } from './identity-database'
import type { SignInEvents } from './sign-in/sign-in-guard'

/** Hashes and verifies passwords. */
export interface PasswordHash {
  hash(password: string): Promise<string>
  verify(given: { readonly hash: string; readonly password: string }): Promise<boolean>
}

/** The cause of a failed response. Safe to log: contains no token, password or SQL parameter. */
export interface IdentityFault {
  readonly requestId: string | null
  readonly reason: string
}

export interface IdentityOptions {
  readonly db: IdentityDatabase
  /** Signs the session cookies. At least 32 characters. */
  readonly secret: string
  /** The one public address of this service; its origin is trusted. */
  readonly baseUrl: string
  /** The name of the service, which authenticator apps and passkeys show. */
  readonly serviceName: string
  /** Additional origins that may write, compared exactly. */
  readonly trustedOrigins: readonly string[]
  readonly signUpPerMinute: number
  /** When true, refuses to open on a plain http address that is not loopback. */
  readonly production: boolean
  /**
   * Called once for each new user, after it is stored and before the sign-up responds. A failure is reported but does not fail
   * the sign-up: the user already exists, so a retry could not succeed. Its effects must be repairable later.
   */
  readonly onSignUp: (
    user: SignedUpUser & { readonly emailConfirmed: boolean },
    caller: Pick<IdentityCaller, 'address' | 'isFromThisMachine'>,
  ) => Promise<void>
  /** Providers of identities that sign in. */
  readonly providers?: readonly SignInProvider[]
  readonly openProvider?: (provider: SignInProvider) => ProviderClient
  /** Notifies owners of their sign-ins. */
  readonly signInEvents?: SignInEvents
  /** How sign-ups are confirmed by email. Absent: a sign-up signs in at once, and says so when the address is taken. */
  readonly confirmation?: SignUpConfirmation | null
  /** Called after a session ended: by its owner, by another of their sessions, or by a new password. */
  readonly onSessionEnd?: (userId: string) => Promise<void>
  /** Mails the token that sets a new password. The caller does not wait for it. */
  readonly onResetRequest?: (user: SignedUpUser, token: string) => Promise<void>
  /** Called after a password was reset with such a token; every session has ended by then. */
  readonly onPasswordReset?: (user: SignedUpUser, context: { readonly address: string | null }) => Promise<void>
  /** Receives every failure behind a 500 or 503, and every failed onSignUp. Default: one line on stderr. */
  readonly onFault?: (fault: IdentityFault) => void
  /** Fetches the metadata documents of apps, from addresses that strangers choose. Absent: apps must register. */
  readonly fetchDocument?: OutboundFetch
  readonly clock?: Clock
  /** A cheaper hash, for tests. */
  readonly passwordHash?: PasswordHash | undefined
}

/** Confirms that the person who signs up reads email at their address. Callers do not wait for the mails. */
export interface SignUpConfirmation {
  /** Whether a session may begin for this user. */
  readonly mayEnter: (userId: string) => Promise<boolean>
  /** Mails the link that confirms the address. */
  readonly send: (user: SignedUpUser) => Promise<void>
  /** Somebody signed up with the address of this user. `token` sets a new password. */
  readonly onTaken: (user: SignedUpUser, token: string) => Promise<void>
}
