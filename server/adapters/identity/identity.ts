import { AsyncLocalStorage } from 'node:async_hooks'
import { betterAuth } from 'better-auth/minimal'
import type { Identity, SignedUpUser } from '../../core/accounts/identity'
import { ACCESS_TOKEN_PREFIX, hashToken } from '../../core/credentials/oauth-grant'
import type { AccountId } from '../../core/ids'
import { isUnavailable } from '../../core/unavailable'
import { authRequest, isCallback, pathUnder } from './auth-request'
import { readRefusal, type SignInRefusal, shapeError } from './error-shape'
import type { IdentityFault, IdentityOptions } from './identity-options'
import { type LibraryParts, libraryOptions, NOBODY, SYSTEM_CLOCK, settingsOfUsers } from './library-options'
import { LibraryGrants } from './oauth/oauth-grants'
import { openProtocol, type ProtocolCaller, type ProtocolResponse } from './oauth/oauth-protocol'
import { openUpkeep } from './oauth/oauth-upkeep'
import { callbackRedirect } from './sign-in/callback-redirect'
import { CodeUses } from './sign-in/code-uses'
import { type Finish, type SignInEvents, SignInGuard } from './sign-in/sign-in-guard'
import { userDirectory } from './user-directory'
import { isTakenEmail } from './user-settings'
import { respond, type Visit } from './visit'
import { libraryWorkspaces } from './workspaces'

/** A session could not be read. Keeps from the cause only whether the database was unavailable, no text that could contain a token. */
class SessionUnreadable extends Error {
  readonly unavailable: boolean

  constructor(cause: unknown) {
    super(`The session could not be read: ${safeReason(cause)}`)
    this.unavailable = isUnavailable(cause)
  }
}

const MIN_SECRET_CHARACTERS = 32

export function openIdentity(options: IdentityOptions): Identity {
  const { origin } = new URL(options.baseUrl)
  refuseUnsafe(options)
  const trusted = new Set([origin, ...options.trustedOrigins])
  const clock = options.clock ?? SYSTEM_CLOCK
  const report = options.onFault ?? reportToStderr
  const visits = new AsyncLocalStorage<Visit>()
  const guarded: LibraryParts['guarded'] = (what, act) =>
    reported(act, (reason) => report({ requestId: visits.getStore()?.requestId ?? null, reason: `${what}: ${reason}` }))
  const onSessionEnd = (userId: string) => guarded('session hook', () => options.onSessionEnd?.(userId))
  const users = settingsOfUsers(options.db, onSessionEnd)
  const uses = new CodeUses()
  const directory = userDirectory(options.db)
  const guard = new SignInGuard({
    secret: options.secret,
    origin,
    clock,
    ...directory,
    session: (headers) => session(headers),
    events: guardedEvents(guarded, options.signInEvents),
  })
  const resetToken = async (email: string) => {
    const visit: Visit = { ...NOBODY, hidden: null, handed: null }
    await visits.run(visit, () => auth.api.requestPasswordReset({ body: { email } }))
    return visit.handed ?? null
  }
  const upkeep = openUpkeep(options.db, () => clock.now())
  const auth = betterAuth(
    libraryOptions({ options, origin, clock, visits, guarded, uses, users, onSessionEnd, resetToken, guard, upkeep }),
  )
  const run = async (request: Request, caller: ProtocolCaller): Promise<ProtocolResponse> => {
    const visit: Visit = { ...caller, hidden: null }
    const response = await respond(visit, () => visits.run(visit, () => auth.handler(request)))
    const fault = visit.hidden?.error ?? (response.status >= 500 ? `the library answered ${response.status}` : null)
    const { session: started, isPasswordRight = null } = visit
    return { response, fault, startedFor: started?.userId ?? null, isPasswordRight }
  }
  const inVisit = async <T>(act: () => Promise<T>): Promise<T> => {
    const visit: Visit = { ...NOBODY, hidden: null }
    try {
      return await visits.run(visit, act)
    } catch (error) {
      throw visit.hidden?.error ?? error
    }
  }
  const session = sessionReader(
    (headers) => inVisit(() => auth.api.getSession({ headers, query: { disableRefresh: true } })),
    (id) => users.seen(id, clock.now()),
  )
  const tokens = new LibraryGrants({ db: options.db, baseUrl: origin, changes: () => 0, now: () => clock.now() })
  const oauth = openProtocol({
    origin,
    run,
    uses,
    upkeep,
    onFault: (requestId, error) => report({ requestId, reason: safeReason(error) }),
    byToken: async (token) => (token.startsWith(ACCESS_TOKEN_PREFIX) ? tokens.byHash(hashToken(token)) : null),
    now: () => clock.now(),
  })

  return {
    handle: handler({ oauth, guard, run, report, origin, trusted, ...traitsOf(options) }),

    authorizationServer: () => oauth.metadata(),

    session,

    ...directory,
    ...users,

    resetToken,

    workspaces: libraryWorkspaces(options, auth.api, inVisit),
  }
}

interface FoundSession {
  readonly user: SignedUpUser
  readonly session: {
    readonly id: string
    readonly createdAt: Date
    readonly secondFactor?: boolean | null | undefined
  }
}

function sessionReader(
  find: (headers: Headers) => Promise<FoundSession | null>,
  seen: (sessionId: string) => void,
): Identity['session'] {
  return async (headers) => {
    try {
      const found = await find(headers)
      if (found === null) return null
      const { user, session: row } = found
      seen(row.id)
      return {
        id: row.id,
        userId: user.id,
        email: user.email,
        name: user.name,
        sessionCreatedAt: row.createdAt.getTime(),
        secondFactor: row.secondFactor === true,
        // A column of the workspaces' plugin, whose type is lost among those of the other plugins. Only ids of accounts are stored there.
        workspace: (Reflect.get(row, 'activeOrganizationId') ?? null) as AccountId | null,
      }
    } catch (error) {
      throw new SessionUnreadable(error)
    }
  }
}

/** Callbacks of the guard, whose failures are reported. */
function guardedEvents(guarded: LibraryParts['guarded'], events: SignInEvents | undefined): SignInEvents {
  return {
    onSecondFactorLocked: (user, address) =>
      guarded('second factor notice', () => events?.onSecondFactorLocked(user, address)),
    onGuessing: (user, address) => guarded('guessing notice', () => events?.onGuessing(user, address)),
    onRecoveryCode: (user, address) => guarded('recovery notice', () => events?.onRecoveryCode(user, address)),
    onIdentityLinked: (user, address) => guarded('link notice', () => events?.onIdentityLinked(user, address)),
    onNewBrowser: (browser) => guarded('sign-in notice', () => events?.onNewBrowser(browser)),
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
  /** Whether there are providers of sign-in. */
  readonly hasProviders: boolean
}

function traitsOf({ confirmation, providers = [] }: IdentityOptions) {
  return { hidesTaken: Boolean(confirmation), hasProviders: providers.length > 0 }
}

function handler({ oauth, ...parts }: HandlerParts): Identity['handle'] {
  const { origin, hasProviders } = parts
  const answer = byLibrary(parts)
  return async (request, caller) => {
    if (oauth.speaks(request)) return oauth.answer(request, caller)
    const response = await answer(request, caller)
    const isNavigation = hasProviders && request.method === 'GET' && isCallback(pathUnder(new URL(request.url)))
    return isNavigation ? callbackRedirect(response, origin) : response
  }
}

function byLibrary(parts: Omit<HandlerParts, 'oauth'>): Identity['handle'] {
  const { guard, run, report, origin, trusted, hidesTaken, hasProviders } = parts
  return async (request, caller) => {
    const { address, requestId } = caller
    let finish: Finish | null = null
    const broken = async (error: unknown) => {
      const status = isUnavailable(error) ? 503 : 500
      report({ requestId, reason: safeReason(error) })
      await finish?.({ status, startedFor: null, isPasswordRight: null })
      return refusalResponse({ status, code: null, message: null, retryAfterSeconds: null }, requestId)
    }
    try {
      const accepted = await authRequest(request, address, { origin, trusted, hasProviders })
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

async function reported(act: () => Promise<void> | undefined, onFailure: (reason: string) => void): Promise<void> {
  try {
    await act()
  } catch (error) {
    onFailure(safeReason(error))
  }
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
