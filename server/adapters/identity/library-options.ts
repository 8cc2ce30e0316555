import type { AsyncLocalStorage } from 'node:async_hooks'
import type { BetterAuthOptions, GenericEndpointContext } from 'better-auth'
import { drizzleAdapter } from 'better-auth/adapters/drizzle'
import { APIError, createAuthMiddleware, getSessionFromCtx } from 'better-auth/api'
import { hashPassword, verifyPassword } from 'better-auth/crypto'
import type { SignedUpUser } from '../../core/accounts/identity'
import { MAX_EMAIL_CHARACTERS } from '../../core/accounts/mails/email-change'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../core/accounts/password'
import type { Clock } from '../../core/clock'
import { isPlainLine, PLAIN_LINE_RULE } from '../../core/plain-text'
import {
  identityAccount,
  identityInvitation,
  identityMember,
  identityOrganization,
  identityPasskey,
  identitySession,
  identityTwoFactor,
  identityUser,
  identityVerification,
} from '../stores/libsql/schema/identity'
import {
  oauthAccessToken,
  oauthClient,
  oauthClientAssertion,
  oauthClientResource,
  oauthConsent,
  oauthDeviceCode,
  oauthRefreshToken,
  oauthResource,
} from '../stores/libsql/schema/oauth'
import { ADDRESS_HEADER, BASE_PATH, CALLBACK_PATH } from './auth-request'
import type { IdentityDatabase } from './identity-database'
import type { IdentityOptions, PasswordHash } from './identity-options'
import { type LibraryStoreParts, libraryStore } from './library-store'
import { clientDocuments } from './oauth/client-documents'
import { oauthPlugins } from './oauth/oauth-options'
import { secretHash } from './secret-hash'
import { type AttemptWindows, openAttemptWindows } from './sign-in/attempt-windows'
import type { CodeUses } from './sign-in/code-uses'
import { identityProviders } from './sign-in/identity-providers'
import { refuseWeakPassword } from './sign-in/password-strength'
import {
  beginsWithSecondFactor,
  recoveryCodeHash,
  requirePasskeyId,
  SESSION_FIELDS,
  secondFactorBody,
  secondFactorOpener,
  secondFactorPlugins,
} from './sign-in/second-factors'
import type { SignInGuard } from './sign-in/sign-in-guard'
import { UsedCodes } from './sign-in/used-codes'
import { freeStrandedEmail } from './stranded-email'
import { userSecondFactors, userSessions } from './user-sessions'
import { userSettings } from './user-settings'
import { noteLoggedError, noteSecondFactor, noteUnavailable, type Visit } from './visit'
import { workspacePlugin } from './workspaces'

const HOUR_SECONDS = 60 * 60
const DAY_SECONDS = 24 * HOUR_SECONDS
const MINUTE_SECONDS = 60
const MAX_NAME_CHARACTERS = 200
const MAX_USER_AGENT_CHARACTERS = 256

/** The parts of the identity that run inside the library. */
export interface LibraryParts {
  readonly options: IdentityOptions
  readonly origin: string
  /** For the sign-in time of a session. The library measures its lifetime by its own clock. */
  readonly clock: Clock
  readonly visits: AsyncLocalStorage<Visit>
  /** Callbacks that run inside the library must not make it fail: failures are reported instead. */
  readonly guarded: (what: string, act: () => Promise<void> | undefined) => Promise<void>
  readonly uses: CodeUses
  readonly users: ReturnType<typeof settingsOfUsers>
  readonly onSessionEnd: (userId: string) => Promise<void>
  readonly resetToken: (email: string) => Promise<string | null>
  readonly guard: SignInGuard
  readonly upkeep: () => Promise<void>
}

export function settingsOfUsers(db: IdentityDatabase, onSessionEnd: LibraryParts['onSessionEnd']) {
  return {
    ...userSettings(db, onSessionEnd),
    ...userSessions(db, onSessionEnd),
    ...userSecondFactors(db, onSessionEnd),
  }
}

/** The caller of what runs outside of any request. */
export const NOBODY = { address: null, requestId: null, isFromThisMachine: false } as const
export const SYSTEM_CLOCK: Clock = { now: () => Date.now() }

/**
 * The options of the sign-in library. Everything that it would read from the environment, or change with NODE_ENV, is set
 * explicitly, so that it behaves the same in tests and in production.
 */
export function libraryOptions(parts: LibraryParts) {
  const { options, origin, visits } = parts
  const windows = openAttemptWindows(parts.clock)
  return {
    appName: options.serviceName,
    baseURL: origin,
    basePath: BASE_PATH,
    // As a list, because BETTER_AUTH_SECRETS in the environment would silently replace a single `secret`.
    secret: options.secret,
    secrets: [{ version: 1, value: options.secret }],
    trustedOrigins: [...options.trustedOrigins],
    database: libraryStore(tables(options.db), storeParts(parts)),
    telemetry: { enabled: false },
    logger: {
      level: 'error',
      disableColors: true,
      log: (_level: string, message: string, ...details: unknown[]) =>
        noteLoggedError(visits.getStore(), message, details),
    },
    // Unexpected failures are thrown and become a 500 with a request id in one place.
    // A user whom an app sent with an invalid request sees the error on a dashboard page.
    onAPIError: { throw: true, errorURL: `${origin}/consent` },
    // First: until the second factor is given, the OAuth server must not see a session.
    plugins: [
      ...secondFactorPlugins({ origin, ...options }),
      ...oauthPlugins(origin, clientDiscovery(parts, windows)),
      workspacePlugin(options.confirmation != null),
      // After the second factor, whose question it turns into a page.
      identityProviders(parts),
    ],
    emailAndPassword: passwords(parts),
    account: {
      // An address proves no identity: who has one links the identity while signed in.
      accountLinking: {
        enabled: true,
        disableImplicitLinking: true,
        allowDifferentEmails: true,
        trustedProviders: (options.providers ?? []).map(({ id }) => id),
      },
      updateAccountOnSignIn: false,
      storeStateStrategy: 'database',
    },
    // A session ends a week after sign-in, however much it is used, so that no token lives forever.
    // How old a sign-in may be is for the gateway's own routes to say (freshAge), by its own clock.
    session: { expiresIn: 7 * DAY_SECONDS, disableSessionRefresh: true, freshAge: 0, additionalFields: SESSION_FIELDS },
    verification: { storeIdentifier: 'hashed' },
    rateLimit: rateLimits(options.signUpPerMinute, windows),
    advanced: {
      useSecureCookies: origin.startsWith('https:'),
      defaultCookieAttributes: { httpOnly: true, sameSite: 'lax' },
      ipAddress: { ipAddressHeaders: [ADDRESS_HEADER], ipv6Subnet: 64 },
      // Both default to off when NODE_ENV is test, but tests must see what production does.
      disableCSRFCheck: false,
      disableOriginCheck: false,
    },
    hooks: libraryHooks(parts),
    databaseHooks: rowHooks(parts, windows),
  } satisfies BetterAuthOptions
}

function storeParts({ options, uses, visits, guard }: LibraryParts): LibraryStoreParts {
  const opens = secondFactorOpener(options.secret)
  return {
    hash: secretHash(options.secret),
    uses,
    onFailure: (error) => noteUnavailable(visits.getStore(), error),
    registration: () => visits.getStore()?.registration ?? undefined,
    onSecondFactorRead: (row) => noteSecondFactor(visits.getStore(), row, opens),
    onSecondFactorLocked: (userId) => guard.secondFactorLocked(userId, visits.getStore()?.address ?? null),
  }
}

/** Finds apps that did not register. */
function clientDiscovery({ options, origin, visits, upkeep, clock }: LibraryParts, windows: AttemptWindows) {
  const { db, fetchDocument } = options
  if (!fetchDocument) return null
  return clientDocuments({
    db,
    fetch: fetchDocument,
    windows,
    upkeep,
    now: () => clock.now(),
    address: () => visits.getStore()?.address ?? null,
    errorUrl: `${origin}/consent`,
  })
}

function rateLimits(signUpPerMinute: number, windows: AttemptWindows) {
  return {
    enabled: true,
    window: MINUTE_SECONDS,
    max: 600,
    customRules: {
      '/sign-up/email': { window: MINUTE_SECONDS, max: signUpPerMinute },
      '/sign-in/email': { window: MINUTE_SECONDS, max: 10 },
      '/sign-in/social': { window: MINUTE_SECONDS, max: 30 },
      '/link-social': { window: MINUTE_SECONDS, max: 30 },
      '/callback/*': { window: MINUTE_SECONDS, max: 30 },
      '/change-password': { window: MINUTE_SECONDS, max: 10 },
      // A code has 32^8 values and lives ten minutes, so it cannot be guessed at this rate.
      '/device': { window: MINUTE_SECONDS, max: 10 },
      '/device/approve': { window: MINUTE_SECONDS, max: 10 },
      '/device/code': { window: MINUTE_SECONDS, max: 10 },
      '/two-factor/*': { window: MINUTE_SECONDS, max: 20 },
      '/passkey/*': { window: MINUTE_SECONDS, max: 30 },
      '/request-password-reset': { window: MINUTE_SECONDS, max: 5 },
      '/reset-password': { window: MINUTE_SECONDS, max: 10 },
    },
    customStorage: { consume: async (key: string, rule) => windows.take(key, rule) },
  } satisfies BetterAuthOptions['rateLimit']
}

function libraryHooks({ options, users }: LibraryParts) {
  const hashCode = recoveryCodeHash(options.secret)
  return {
    before: createAuthMiddleware(async (ctx) => {
      const body: Readonly<Record<string, unknown>> = { ...ctx.body }
      validateProfile(body)
      await refuseWeakPassword(ctx.path, body)
      if (ctx.path === '/sign-up/email') await freeStrandedEmail(options.db, ctx.body, Date.now())
      if (ctx.path === '/change-password') return endOtherSessions(ctx.body)
      if (TAKES_CODES.has(ctx.path)) await refuseCodeOfSession(ctx, users)
      if (ctx.path === '/passkey/verify-authentication') requirePasskeyId(ctx.body)
      const overruled = secondFactorBody(ctx.path, ctx.body, hashCode)
      if (overruled) return { context: { body: overruled } }
      if (ctx.path === '/list-sessions') return sessionsWithoutTokens(ctx)
      if (ctx.path === '/revoke-other-sessions') return onlyThisSession(ctx, users)
      return undefined
    }),
    after: createAuthMiddleware(async (ctx) => {
      await endReplacedSession(ctx)
      await endSessionsWithoutFactor(ctx, users)
      await strengthenByPasskey(ctx, users)
    }),
  } satisfies BetterAuthOptions['hooks']
}

function tables(db: IdentityDatabase) {
  return drizzleAdapter(db, {
    provider: 'sqlite',
    schema: {
      user: identityUser,
      session: identitySession,
      account: identityAccount,
      verification: identityVerification,
      oauthClient,
      oauthResource,
      oauthClientResource,
      oauthRefreshToken,
      oauthAccessToken,
      oauthConsent,
      oauthClientAssertion,
      deviceCode: oauthDeviceCode,
      twoFactor: identityTwoFactor,
      passkey: identityPasskey,
      organization: identityOrganization,
      member: identityMember,
      invitation: identityInvitation,
    },
    // The one writer of the database takes single statements and batches, no open transactions.
    transaction: false,
  })
}

function passwords({ options, visits, guarded, users, resetToken }: LibraryParts) {
  const confirmation = options.confirmation ?? null
  const hashes: PasswordHash = options.passwordHash ?? { hash: hashPassword, verify: verifyPassword }
  return {
    enabled: true,
    // Without a session, the library answers a sign-up the same whether or not the address is taken.
    autoSignIn: confirmation === null,
    // Not awaited: the time a mail takes would reveal whether the address has an account.
    onExistingUserSignUp: async ({ user }: { user: SignedUpUser }) =>
      void guarded('sign-up mail', async () => {
        const token = confirmation && (await resetToken(user.email))
        if (token !== null) await confirmation?.onTaken(userOf(user), token)
      }),
    minPasswordLength: MIN_PASSWORD_LENGTH,
    maxPasswordLength: MAX_PASSWORD_LENGTH,
    revokeSessionsOnPasswordReset: true,
    resetPasswordTokenExpiresIn: HOUR_SECONDS,
    password: {
      hash: hashes.hash,
      verify: async (given: Parameters<PasswordHash['verify']>[0]) => {
        const isRight = await hashes.verify(given)
        const visit = visits.getStore()
        if (visit) visit.isPasswordRight = isRight
        return isRight
      },
    },
    // Not awaited: the time a mail takes would reveal whether the address has an account.
    sendResetPassword: async ({ user, token }: { user: SignedUpUser; token: string }) => {
      const visit = visits.getStore()
      if (visit && visit.handed !== undefined) visit.handed = token
      else void guarded('reset mail', () => options.onResetRequest?.(userOf(user), token))
    },
    onPasswordReset: async ({ user }: { user: SignedUpUser }) =>
      guarded('reset hook', async () => {
        // The token came by email.
        if (confirmation) await users.confirmEmail(user.id, user.email)
        await options.onPasswordReset?.(userOf(user), { address: visits.getStore()?.address ?? null })
      }),
  } satisfies BetterAuthOptions['emailAndPassword']
}

/** A new password ends every other session, whatever the caller requested: someone who knew the old one may have a session. */
function endOtherSessions(body: unknown) {
  if (typeof body !== 'object' || body === null) return
  return { context: { body: { ...body, revokeOtherSessions: true } } }
}

/** The library would list the tokens of all sessions. Here they are hashes without a use: sessions are ended by id. */
async function sessionsWithoutTokens(ctx: SignInContext) {
  const { user } = await signedIn(ctx)
  const sessions = await ctx.context.internalAdapter.listSessions(user.id, { onlyActiveSessions: true })
  return sessions.map(({ token: _, ...session }) => session)
}

/** The library ends other sessions by the tokens that it listed, which are hashes here. */
async function onlyThisSession(ctx: SignInContext, users: Users) {
  const { user, session } = await signedIn(ctx)
  await users.endSessions(user.id, { allBut: session.id })
  return { status: true }
}

async function signedIn(ctx: SignInContext) {
  const found = await getSessionFromCtx(ctx)
  if (!found)
    throw new APIError('UNAUTHORIZED', {
      code: 'UNAUTHORIZED',
      message: 'You are not signed in. Sign in and try again.',
    })
  return found
}

/**
 * Signing in again in the same browser replaces its session: the old token stops working, and the old session does not
 * appear in the list with the new one. Sessions of other browsers stay.
 */
async function endReplacedSession({ path, context, getSignedCookie }: SignInContext): Promise<void> {
  if (
    !(path === '/sign-in/email' || path === CALLBACK_PATH || beginsWithSecondFactor(path)) ||
    !context.newSession ||
    context.session
  )
    return
  const replaced = await getSignedCookie(context.authCookies.sessionToken.name, context.secret)
  if (replaced && replaced !== context.newSession.session.token) await context.internalAdapter.deleteSession(replaced)
}

/** From here on every session began with the second factor. */
async function endSessionsWithoutFactor({ path, context }: SignInContext, users: Users): Promise<void> {
  const isSetUp = path === '/two-factor/verify-totp' && context.session !== null
  if (isSetUp && context.newSession)
    await users.endSessions(context.newSession.user.id, { allBut: context.newSession.session.id })
}

const TAKES_CODES: ReadonlySet<string> = new Set(['/two-factor/verify-totp', '/two-factor/verify-backup-code'])

/**
 * The library counts wrong codes of a sign-in, but none that a session sends: a stolen one could try all codes, and then sign in with
 * the right one. A session needs codes only to set up an app.
 */
async function refuseCodeOfSession(ctx: SignInContext, users: Users): Promise<void> {
  const session = await getSessionFromCtx(ctx)
  if (!session || (ctx.path === '/two-factor/verify-totp' && !(await users.secondFactors(session.user.id)).app)) return
  throw new APIError('CONFLICT', {
    code: 'ALREADY_SIGNED_IN',
    message: 'You are signed in already. Codes are for signing in: sign out first.',
  })
}

/** A user who adds a passkey has just shown it, and had no second factor or gave it. */
async function strengthenByPasskey({ path, context }: SignInContext, users: Users): Promise<void> {
  const { session, returned } = context
  if (path === '/passkey/verify-registration' && session && !(returned instanceof Error))
    await users.strengthenSession(session.session.id)
}

type Users = LibraryParts['users']
type SignInContext = Parameters<Parameters<typeof createAuthMiddleware>[0]>[0]

function userOf({ id, email, name }: SignedUpUser): SignedUpUser {
  return { id, email, name }
}

function rowHooks(parts: LibraryParts, windows: AttemptWindows) {
  const { options, clock, visits, guarded, onSessionEnd } = parts
  // The library measures codes by the system clock.
  const usedCodes = new UsedCodes(options.db, secretHash(options.secret), SYSTEM_CLOCK)
  return {
    user: {
      create: {
        before: async (user, ctx) => {
          validateProfile(user)
          if (ctx?.path === CALLBACK_PATH) countSignUp(parts, windows)
        },
        after: async ({ id, email, name, emailVerified }) => {
          const user = { id, email, name, emailConfirmed: emailVerified }
          await guarded('sign-up hook', () => options.onSignUp(user, visits.getStore() ?? NOBODY))
          if (!emailVerified) void sendConfirmation(parts, user)
        },
      },
      update: { before: async (user) => validateProfile(user) },
    },
    account: {
      create: {
        before: async ({ userId }, ctx) => {
          if (ctx && isLink(parts, ctx)) await requireLinker(ctx, userId)
        },
        after: async ({ userId }, ctx) => {
          const user = ctx && isLink(parts, ctx) ? await ctx.context.internalAdapter.findUserById(userId) : null
          const address = visits.getStore()?.address ?? null
          if (user) await guarded('link notice', () => options.signInEvents?.onIdentityLinked(userOf(user), address))
        },
      },
    },
    session: {
      create: {
        before: async (session, ctx) => {
          await requireConfirmed(parts, session.userId, ctx)
          if (ctx?.path === '/two-factor/verify-totp')
            await usedCodes.refuseUsed(session.userId, String(ctx.body?.code))
          return {
            data: {
              secondFactor: hasSecondFactor(ctx),
              createdAt: new Date(clock.now()),
              userAgent: session.userAgent?.slice(0, MAX_USER_AGENT_CHARACTERS) ?? null,
            },
          }
        },
        after: async ({ id, userId }) => {
          const visit = visits.getStore()
          if (visit) visit.session = { id, userId }
        },
      },
      delete: {
        after: async ({ id, userId }) => {
          const visit = visits.getStore()
          // A session that waits for the second factor ends in the visit that began it, before anyone had it.
          if (visit?.session?.id === id) visit.session = null
          else await onSessionEnd(userId)
        },
      },
    },
  } satisfies BetterAuthOptions['databaseHooks']
}

/** Whoever signs up by a provider counts as one who signs up with a password. */
function countSignUp({ options, visits }: LibraryParts, windows: AttemptWindows): void {
  const visit = visits.getStore()
  if (visit) visit.signsUp = true
  const rule = { window: MINUTE_SECONDS, max: options.signUpPerMinute }
  if (windows.take(`sign-up by a provider|${visit?.address}`, rule).allowed) return
  throw new APIError('TOO_MANY_REQUESTS', {
    code: 'TOO_MANY_SIGN_UPS',
    message: 'Too many sign-ups from this address. Try again in a minute.',
  })
}

/** Whether the identity is for a user who exists, and not for one who signs up with it. */
function isLink({ visits }: LibraryParts, ctx: GenericEndpointContext): boolean {
  return ctx.path === CALLBACK_PATH && !visits.getStore()?.signsUp
}

/** A session that ended meanwhile, perhaps a stolen one, links nothing. */
async function requireLinker(ctx: GenericEndpointContext, userId: string): Promise<void> {
  if ((await getSessionFromCtx(ctx))?.user.id === userId) return
  throw new APIError('FORBIDDEN', {
    code: 'LINK_WITHOUT_SESSION',
    message: 'You are no longer signed in to the account that you were linking. Sign in and link again.',
  })
}

/** Paths that replace the session with a new one of the same user. */
const REPLACES_SESSION: ReadonlySet<string> = new Set(['/change-password', '/two-factor/disable'])

/** A session that replaces another is as strong as that one. */
function hasSecondFactor(ctx: GenericEndpointContext | null): boolean {
  if (!ctx) return false
  const isReplaced = REPLACES_SESSION.has(ctx.path) && ctx.context.session?.session['secondFactor'] === true
  return isReplaced || beginsWithSecondFactor(ctx.path)
}

/** However somebody signs in: no session begins before the address of its sign-up is confirmed. */
async function requireConfirmed(
  parts: LibraryParts,
  userId: string,
  ctx: GenericEndpointContext | null,
): Promise<void> {
  const { confirmation } = parts.options
  if (!confirmation || (await confirmation.mayEnter(userId))) return
  const user = await ctx?.context.internalAdapter.findUserById(userId)
  if (user) void sendConfirmation(parts, userOf(user))
  throw new APIError('FORBIDDEN', {
    code: 'EMAIL_NOT_CONFIRMED',
    message: 'Confirm your email address first. We sent you a new link.',
  })
}

/** Not awaited: the time a mail takes would reveal whether the address has an account. */
function sendConfirmation({ options, guarded }: LibraryParts, user: SignedUpUser): Promise<void> {
  return guarded('confirmation mail', () => options.confirmation?.send(user))
}

/** The library accepts a name of any type and length; here it must be a short single-line string. Images are not supported. */
function validateProfile(user: Readonly<Record<string, unknown>>): void {
  const { name, email, image } = user
  if (
    name !== undefined &&
    (typeof name !== 'string' || [...name].length > MAX_NAME_CHARACTERS || !isPlainLine(name))
  ) {
    throw new APIError('BAD_REQUEST', {
      code: 'INVALID_NAME',
      message: `name must be text of at most ${MAX_NAME_CHARACTERS} characters, ${PLAIN_LINE_RULE}.`,
    })
  }
  if (email !== undefined && (typeof email !== 'string' || email.length > MAX_EMAIL_CHARACTERS)) {
    throw new APIError('BAD_REQUEST', {
      code: 'INVALID_EMAIL',
      message: `email must be text of at most ${MAX_EMAIL_CHARACTERS} characters.`,
    })
  }
  if (image !== undefined && image !== null) {
    throw new APIError('BAD_REQUEST', {
      code: 'FIELD_NOT_ALLOWED',
      message: 'Profile pictures are not supported. Remove image.',
    })
  }
}
