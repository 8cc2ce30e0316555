import { AsyncLocalStorage } from 'node:async_hooks'
import { betterAuth } from 'better-auth/minimal'
import type { Identity, IdentityCaller, SignedUpUser } from '../../core/accounts/identity'
import type { Clock } from '../../core/clock'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import { isUnavailable } from '../../core/unavailable'
import { authRequest } from './auth-request'
import { readRefusal, type SignInRefusal, shapeError } from './error-shape'
import type { IdentityDatabase } from './identity-database'
import { libraryOptions, type PasswordHash } from './library-options'
import { clientDocuments } from './oauth/client-documents'
import { LibraryGrants } from './oauth/oauth-grants'
import { openProtocol, type ProtocolCaller, type ProtocolResponse } from './oauth/oauth-protocol'
import { openUpkeep } from './oauth/oauth-upkeep'
import { secretHash } from './secret-hash'
import { openAttemptWindows } from './sign-in/attempt-windows'
import { CodeUses } from './sign-in/code-uses'
import { secondFactorOpener } from './sign-in/second-factors'
import { type Finish, type SignInEvents, SignInGuard } from './sign-in/sign-in-guard'
import { UsedCodes } from './sign-in/used-codes'
import { userDirectory } from './user-directory'
import { userSecondFactors, userSessions } from './user-sessions'
import { isTakenEmail, userSettings } from './user-settings'
import { noteLoggedError, noteSecondFactor, noteUnavailable, respond, type Visit } from './visit'

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
    user: SignedUpUser,
    caller: Pick<IdentityCaller, 'address' | 'isFromThisMachine'>,
  ) => Promise<void>
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

/** A session could not be read. Keeps from the cause only whether the database was unavailable, no text that could contain a token. */
class SessionUnreadable extends Error {
  readonly unavailable: boolean

  constructor(cause: unknown) {
    super(`The session could not be read: ${safeReason(cause)}`)
    this.unavailable = isUnavailable(cause)
  }
}

/** Used outside of any request. */
const NOBODY = { address: null, requestId: null, isFromThisMachine: false } as const
const SYSTEM_CLOCK: Clock = { now: () => Date.now() }
const MIN_SECRET_CHARACTERS = 32

export function openIdentity(options: IdentityOptions): Identity {
  const { origin } = new URL(options.baseUrl)
  refuseUnsafe(options)
  const trusted = new Set([origin, ...options.trustedOrigins])
  const clock = options.clock ?? SYSTEM_CLOCK
  const report = options.onFault ?? reportToStderr
  const visits = new AsyncLocalStorage<Visit>()
  const guarded: Guarded = (what, act) =>
    reported(act, (reason) => report({ requestId: visits.getStore()?.requestId ?? null, reason: `${what}: ${reason}` }))
  const onSessionEnd = (userId: string) => guarded('session hook', () => options.onSessionEnd?.(userId))
  const settings = settingsOfUsers(options.db, onSessionEnd)
  const uses = new CodeUses()
  const directory = userDirectory(options.db)
  const guard = new SignInGuard({
    ...{ secret: options.secret, origin, clock, user: directory.user, userByEmail: directory.userByEmail },
    session: (headers) => session(headers),
    events: {
      onSecondFactorLocked: (user, address) =>
        guarded('second factor notice', () => options.signInEvents?.onSecondFactorLocked(user, address)),
      onGuessing: (user, address) => guarded('guessing notice', () => options.signInEvents?.onGuessing(user, address)),
      onRecoveryCode: (user, address) =>
        guarded('recovery notice', () => options.signInEvents?.onRecoveryCode(user, address)),
      onNewBrowser: (browser) => guarded('sign-in notice', () => options.signInEvents?.onNewBrowser(browser)),
    },
  })
  const resetToken = async (email: string) => {
    const visit: Visit = { ...NOBODY, hidden: null, handed: null }
    await visits.run(visit, () => auth.api.requestPasswordReset({ body: { email } }))
    return visit.handed ?? null
  }
  const upkeep = openUpkeep(options.db, () => clock.now())
  const auth = openLibrary(options, {
    ...{ origin, clock, visits, guarded, uses, settings, onSessionEnd, resetToken, guard, upkeep },
  })
  const run = async (request: Request, caller: ProtocolCaller): Promise<ProtocolResponse> => {
    const visit: Visit = { ...caller, hidden: null }
    const response = await respond(visit, () => visits.run(visit, () => auth.handler(request)))
    const fault = visit.hidden?.error ?? (response.status >= 500 ? `the library answered ${response.status}` : null)
    return {
      response,
      fault,
      startedFor: visit.session?.userId ?? null,
      isPasswordRight: visit.isPasswordRight ?? null,
    }
  }
  const session: Identity['session'] = async (headers) => {
    const visit: Visit = { ...NOBODY, hidden: null }
    try {
      const found = await visits.run(visit, () => auth.api.getSession({ headers, query: { disableRefresh: true } }))
      if (found === null) return null
      const { user, session: row } = found
      settings.seen(row.id, clock.now())
      return {
        ...{ id: row.id, userId: user.id, email: user.email, name: user.name },
        sessionCreatedAt: row.createdAt.getTime(),
        secondFactor: row.secondFactor === true,
      }
    } catch (error) {
      throw new SessionUnreadable(visit.hidden?.error ?? error)
    }
  }
  const tokens = new LibraryGrants({ db: options.db, baseUrl: origin, changes: () => 0, now: () => clock.now() })
  const oauth = openProtocol({
    ...{ origin, run, uses, upkeep },
    onFault: (requestId, error) => report({ requestId, reason: safeReason(error) }),
    byToken: (token) => tokens.byToken(token),
    now: () => clock.now(),
  })

  return {
    handle: handler({ oauth, guard, run, report, origin, trusted, hidesTaken: Boolean(options.confirmation) }),

    authorizationServer: () => oauth.metadata(),

    session,

    ...directory,
    ...settings,

    resetToken,
  }
}

function settingsOfUsers(db: IdentityOptions['db'], onSessionEnd: (userId: string) => Promise<void>) {
  return {
    ...userSettings(db, onSessionEnd),
    ...userSessions(db, onSessionEnd),
    ...userSecondFactors(db, onSessionEnd),
  }
}

interface HandlerParts {
  readonly oauth: ReturnType<typeof openProtocol>
  readonly guard: SignInGuard
  readonly run: (request: Request, caller: ProtocolCaller) => Promise<ProtocolResponse>
  readonly report: (fault: IdentityFault) => void
  readonly origin: string
  readonly trusted: ReadonlySet<string>
  /** Whether a sign-up must not reveal that an address is taken. */
  readonly hidesTaken: boolean
}

function handler({ oauth, guard, run, report, origin, trusted, hidesTaken }: HandlerParts): Identity['handle'] {
  return async (request, caller) => {
    const { address, requestId } = caller
    if (oauth.speaks(request)) return oauth.answer(request, caller)
    let finish: Finish | null = null
    const broken = async (error: unknown) => {
      const status = isUnavailable(error) ? 503 : 500
      report({ requestId, reason: safeReason(error) })
      await finish?.({ status, startedFor: null, isPasswordRight: null })
      return refusalResponse({ status, code: null, message: null, retryAfterSeconds: null }, requestId)
    }
    try {
      const accepted = await authRequest(request, address, { origin, trusted })
      if (!accepted.ok) return refusalResponse(accepted.error, requestId, allowHeader(accepted.error.allow))
      const entered = await guard.enter(accepted.value, address)
      if (!entered.ok) return refusalResponse(entered.error, requestId)
      finish = entered.value
      const { response, fault, ...began } = await runSignUpAgain(accepted.value, hidesTaken, (sent) =>
        run(sent, caller),
      )
      if (isTakenEmail(fault)) return refusalResponse(TAKEN_EMAIL, requestId)
      // The library turns some database failures into a success (sign-out) or a client error (sign-up).
      if (fault !== null) return await broken(fault)
      const cookies = await finish({ status: response.status, ...began })
      for (const cookie of cookies) response.headers.append('set-cookie', cookie)
      return await shapedResponse(response, requestId)
    } catch (error) {
      return broken(error)
    }
  }
}

/**
 * The loser of two concurrent sign-ups is reported by the library as an internal failure. Where no answer may reveal that an
 * address is taken, it signs up once more, with an address that is taken by now.
 */
async function runSignUpAgain(
  request: Request,
  hidesTaken: boolean,
  run: (request: Request) => Promise<ProtocolResponse>,
): Promise<ProtocolResponse> {
  const again = hidesTaken ? request.clone() : null
  const first = await run(request)
  return again && isTakenEmail(first.fault) ? run(again) : first
}

/** Callbacks that run inside the library must not make it fail: failures are reported instead. */
type Guarded = (what: string, act: () => Promise<void> | undefined) => Promise<void>

async function reported(act: () => Promise<void> | undefined, onFailure: (reason: string) => void): Promise<void> {
  try {
    await act()
  } catch (error) {
    onFailure(safeReason(error))
  }
}

interface LibraryParts {
  readonly upkeep: () => Promise<void>
  readonly origin: string
  readonly clock: Clock
  readonly visits: AsyncLocalStorage<Visit>
  readonly guarded: Guarded
  readonly uses: CodeUses
  readonly settings: ReturnType<typeof settingsOfUsers>
  readonly onSessionEnd: (userId: string) => Promise<void>
  readonly resetToken: (email: string) => Promise<string | null>
  readonly guard: SignInGuard
}

function openLibrary(options: IdentityOptions, parts: LibraryParts) {
  const { origin, clock, visits, guarded, uses, settings, onSessionEnd, guard } = parts
  const confirmation = options.confirmation ?? null
  const opens = secondFactorOpener(options.secret)
  const windows = openAttemptWindows(clock)
  const { fetchDocument } = options
  return betterAuth(
    libraryOptions({
      db: options.db,
      secret: options.secret,
      origin,
      trustedOrigins: options.trustedOrigins,
      signUpPerMinute: options.signUpPerMinute,
      windows,
      clientDiscovery: fetchDocument
        ? clientDocuments({
            ...{ db: options.db, fetch: fetchDocument, windows, upkeep: parts.upkeep, now: () => clock.now() },
            ...{ address: () => visits.getStore()?.address ?? null, errorUrl: `${origin}/consent` },
          })
        : null,
      passwordHash: options.passwordHash,
      clock,
      store: {
        hash: secretHash(options.secret),
        uses,
        onFailure: (error) => noteUnavailable(visits.getStore(), error),
        registration: () => visits.getStore()?.registration ?? undefined,
        onSecondFactorRead: (row) => noteSecondFactor(visits.getStore(), row, opens),
        onSecondFactorLocked: (userId) => guard.secondFactorLocked(userId, visits.getStore()?.address ?? null),
      },
      onPasswordChecked: (isRight) => {
        const visit = visits.getStore()
        if (visit) visit.isPasswordRight = isRight
      },
      endOtherSessions: (userId, kept) => settings.endSessions(userId, { allBut: kept }),
      strengthenSession: settings.strengthenSession,
      hasAuthenticatorApp: async (userId) => (await settings.secondFactors(userId)).app,
      onSignUp: (user) => guarded('sign-up hook', () => options.onSignUp(user, visits.getStore() ?? NOBODY)),
      // The library measures codes by the system clock.
      usedCodes: new UsedCodes(options.db, secretHash(options.secret), SYSTEM_CLOCK),
      onSessionStart: (session) => {
        const visit = visits.getStore()
        if (visit) visit.session = session
      },
      onSessionEnd: async ({ id, userId }) => {
        const visit = visits.getStore()
        // A session that waits for the second factor ends in the visit that began it, before anyone had it.
        if (visit?.session?.id === id) visit.session = null
        else await onSessionEnd(userId)
      },
      confirmation: confirmation && {
        mayEnter: confirmation.mayEnter,
        send: (user) => guarded('confirmation mail', () => confirmation.send(user)),
        onTaken: (user) =>
          guarded('sign-up mail', async () => {
            const token = await parts.resetToken(user.email)
            if (token !== null) await confirmation.onTaken(user, token)
          }),
      },
      sendReset: async (user, token) => {
        const visit = visits.getStore()
        if (visit && visit.handed !== undefined) visit.handed = token
        else await guarded('reset mail', () => options.onResetRequest?.(user, token))
      },
      onPasswordReset: (user) =>
        guarded('reset hook', async () => {
          // The token came by email.
          if (confirmation) await settings.confirmEmail(user.id, user.email)
          await options.onPasswordReset?.(user, { address: visits.getStore()?.address ?? null })
        }),
      onLoggedError: (message, details) => noteLoggedError(visits.getStore(), message, details),
    }),
  )
}

function refuseUnsafe({ secret, baseUrl, production }: IdentityOptions): void {
  if (secret.length < MIN_SECRET_CHARACTERS) {
    throw new Error(`The sign-in secret must have at least ${MIN_SECRET_CHARACTERS} characters.`)
  }
  const { protocol, hostname } = new URL(baseUrl)
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(hostname)
  if (production && protocol !== 'https:' && !loopback) {
    throw new Error(`In production the public address must be https, or loopback: ${protocol}//${hostname} is neither.`)
  }
}

const TAKEN_EMAIL: SignInRefusal = {
  status: 422,
  code: 'USER_ALREADY_EXISTS',
  message: 'An account with this email address already exists. Sign in instead.',
  retryAfterSeconds: null,
}

/** Passes 2xx and 3xx through. Any other response keeps its cookies and gets the service's error shape. */
async function shapedResponse(response: Response, requestId: string): Promise<Response> {
  if (response.status < 400) {
    if (!response.headers.has('cache-control')) response.headers.set('cache-control', 'no-store')
    // Its redirects contain codes and requests of apps.
    response.headers.set('referrer-policy', 'no-referrer')
    return response
  }
  const refusal = readRefusal(response.status, await response.text(), response.headers.get('x-retry-after'))
  const cookies = response.headers.getSetCookie().map((cookie): [string, string] => ['set-cookie', cookie])
  return refusalResponse(refusal, requestId, cookies)
}

function refusalResponse(refusal: SignInRefusal, requestId: string, extra: readonly [string, string][] = []): Response {
  const shaped = shapeError(refusal, requestId)
  const headers = new Headers(shaped.headers)
  for (const [name, value] of extra) headers.append(name, value)
  return new Response(JSON.stringify(shaped.body), { status: shaped.status, headers })
}

function allowHeader(allow: string | undefined): [string, string][] {
  return allow === undefined ? [] : [['allow', allow]]
}

/** Describes a failure without its SQL parameters: Drizzle's message contains them, including tokens and hashes. */
function safeReason(error: unknown): string {
  if (typeof error === 'string') return error
  const name = error instanceof Error ? error.name : typeof error
  const message = deepestMessage(error)
  return message.startsWith('Failed query') ? name : `${name}: ${message}`
}

function deepestMessage(error: unknown): string {
  let at = error
  while (at instanceof Error && at.cause instanceof Error) at = at.cause
  return at instanceof Error ? at.message : ''
}

function reportToStderr(fault: IdentityFault): void {
  console.error(`identity: ${fault.reason} (request ${fault.requestId ?? 'none'})`)
}
