import { isUnavailable } from '../../core/unavailable'
import type { SignInRefusal } from './error-shape'
import type { Registration } from './oauth/oauth-registration'
import { REFUSED_PASSKEY } from './sign-in/second-factors'

type Refused = Pick<SignInRefusal, 'status' | 'code' | 'message'>

/** One request in progress: what its hooks need, and errors that the library logged and then hid. */
export interface Visit {
  readonly address: string | null
  readonly requestId: string | null
  readonly isFromThisMachine: boolean
  hidden: { readonly error: unknown } | null
  /** The session that began in it and has not ended. */
  session?: { readonly id: string; readonly userId: string } | null
  /** Whether the password in it was right, once it was compared. */
  isPasswordRight?: boolean
  /** When codes are accepted again. */
  lockedUntil?: number
  /** Why the library fails in it, where that is no fault of ours. */
  refusal?: Refused
  /** The secret of the authenticator app does not open: SECRET_KEY is another one. */
  unreadableApp?: boolean
  /** Whether it creates a user. */
  signsUp?: boolean
  readonly registration?: Registration | null
  /** Receives the reset token instead of the mailer. Absent: the token is mailed. */
  handed?: string | null
}

/** By what the library logs when it cannot verify a passkey. */
const PASSKEY_FAILURES: Readonly<Record<string, Refused>> = {
  'Failed to verify registration': { ...REFUSED_PASSKEY, status: 400 },
  'Failed to verify authentication': { ...REFUSED_PASSKEY, status: 401 },
}
/** Errors by which the library refuses a request, such as one whose `state` is wrong. */
const REFUSALS: ReadonlySet<string> = new Set(['APIError', 'BetterAuthError'])
const UNREADABLE_APP: Refused = {
  status: 409,
  code: 'SECOND_FACTOR_UNREADABLE',
  message:
    'Codes of your authenticator app can no longer be checked, because the key of this gateway was changed. Use a recovery code, or ask the operator to reset your second factor.',
}

/** The library's response, or the refusal in place of its failure. */
export async function respond(visit: Visit, run: () => Promise<Response>): Promise<Response> {
  let response: Response
  try {
    response = await run()
  } catch (error) {
    const refusal = visit.refusal ?? (visit.unreadableApp ? UNREADABLE_APP : null)
    if (!refusal || visit.hidden || isOfDatabase(error)) throw causeOf(visit, error)
    return refused(refusal)
  }
  if (visit.refusal && !visit.hidden && response.status >= 400) return refused(visit.refusal)
  const { lockedUntil } = visit
  if (response.status !== 429 || lockedUntil === undefined || response.headers.has('x-retry-after')) return response
  const headers = new Headers(response.headers)
  // The library measures the lock by the system clock, and does not say how long it takes.
  headers.set('x-retry-after', String(Math.max(1, Math.ceil((lockedUntil - Date.now()) / 1000))))
  return new Response(response.body, { status: response.status, headers })
}

/** The library logs a failure of the database, and throws an error of its own. */
function causeOf({ hidden }: Visit, thrown: unknown): unknown {
  return hidden && !isUnavailable(thrown) ? hidden.error : thrown
}

function refused({ status, code, message }: Refused): Response {
  return Response.json({ code, message }, { status })
}

/** Notes what the library logged as an error, and may hide in its response. Nothing takes the place of a database that does not respond. */
export function noteLoggedError(visit: Visit | undefined, message: string, details: readonly unknown[]): void {
  const error = details.find((detail) => detail instanceof Error && !REFUSALS.has(detail.name))
  if (visit === undefined || error === undefined) return
  const refusal = PASSKEY_FAILURES[message]
  if (refusal && !isOfDatabase(error)) visit.refusal = refusal
  else if (!isUnavailable(visit.hidden?.error)) visit.hidden = { error }
}

/** Notes that the database does not respond, which the library may hide. */
export function noteUnavailable(visit: Visit | undefined, error: unknown): void {
  if (visit && isUnavailable(error)) visit.hidden = { error }
}

/** Notes what the library does not say of a second factor that it reads: until when it is locked, and that its secret does not open. */
export async function noteSecondFactor(
  visit: Visit | undefined,
  { secret, lockedUntil }: Readonly<Record<string, unknown>>,
  opens: (secret: string) => Promise<boolean>,
): Promise<void> {
  if (!visit) return
  if (lockedUntil instanceof Date) visit.lockedUntil = lockedUntil.getTime()
  if (typeof secret === 'string' && !(await opens(secret))) visit.unreadableApp = true
}

/** Errors of the database have the driver's error as their cause. */
function isOfDatabase(error: unknown): boolean {
  return isUnavailable(error) || (error instanceof Error && error.cause !== undefined)
}
