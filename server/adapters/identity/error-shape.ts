import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../core/accounts/password'
/** A refusal by the sign-in library, or by the checks before it, reduced to what decides the response. */
export interface SignInRefusal {
  readonly status: number
  /** The library's code, as it wrote it. */
  readonly code: string | null
  readonly message: string | null
  readonly retryAfterSeconds: number | null
}

export interface ShapedError {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: {
    readonly error: {
      readonly type: string
      readonly code: string
      readonly message: string
      readonly request_id: string
      readonly retry_after?: number
    }
  }
}

const LIBRARY_CODE = /^[A-Z][A-Z0-9_]*$/

/** Codes that have another name in this service, or that add nothing to their status. */
const RENAMED: Readonly<Record<string, string>> = {
  INVALID_ORIGIN: 'foreign_origin',
  MISSING_OR_NULL_ORIGIN: 'foreign_origin',
  CROSS_SITE_NAVIGATION_LOGIN_BLOCKED: 'foreign_origin',
  USER_ALREADY_EXISTS_USE_ANOTHER_EMAIL: 'user_already_exists',
  UNAUTHORIZED: 'missing_session',
  BAD_REQUEST: 'invalid_request',
}

/** The library's messages in this service's wording: what happened, and what to do next. */
const MESSAGES: Readonly<Record<string, string>> = {
  'Invalid email or password': 'Email or password is wrong.',
  'Invalid password': 'The current password is wrong.',
  'Invalid email': 'Enter a valid email address.',
  'Password too short': `The password is too short. Use at least ${MIN_PASSWORD_LENGTH} characters.`,
  'Password too long': `The password is too long. Use at most ${MAX_PASSWORD_LENGTH} characters.`,
  'User already exists.': 'An account with this email address already exists. Sign in instead.',
  'User already exists. Use another email.': 'An account with this email address already exists. Sign in instead.',
  'Invalid token': 'This link has expired or was already used. Request a new one.',
  'Token expired': 'This link has expired or was already used. Request a new one.',
  'Session expired. Re-authenticate to perform this action.': 'Your session has expired. Sign in again.',
  'Session is not fresh': 'This action requires a recent sign-in. Sign in again, then retry.',
  'Invalid origin':
    'This request was refused because it came from another site. Open the dashboard at its own address.',
  'Missing or null Origin': 'This request was refused because the browser did not say which site it came from.',
  'Invalid user code': 'This code is unknown, has expired or was already used. Get a new code on your device.',
  'User code has expired': 'This code is unknown, has expired or was already used. Get a new code on your device.',
  'Device code already processed': 'This code was already used. Get a new code on your device.',
  'Access denied': 'This code belongs to another account. Get a new code on your device.',
}

interface StatusRow {
  readonly type: string
  readonly code: string
  readonly message: string
}

const INVALID = 'invalid_request_error'
const OTHER_CLIENT_ERROR: StatusRow = {
  type: INVALID,
  code: 'invalid_request',
  message: 'The request is not valid. Check it and try again.',
}
const INTERNAL: StatusRow = {
  type: 'api_error',
  code: 'internal_error',
  message: 'Something went wrong on our side. Contact the operator and quote the request ID.',
}
const UNAVAILABLE: StatusRow = {
  type: 'api_error',
  code: 'service_unavailable',
  message: 'The database is not responding. Try again.',
}

const BY_STATUS: ReadonlyMap<number, StatusRow> = new Map([
  [
    401,
    { type: 'authentication_error', code: 'missing_session', message: 'You are not signed in. Sign in and try again.' },
  ],
  [403, { type: 'permission_error', code: 'insufficient_permissions', message: 'You are not allowed to do this.' }],
  [404, { type: INVALID, code: 'unknown_endpoint', message: 'This endpoint does not exist. Check the path.' }],
  [405, { type: INVALID, code: 'method_not_allowed', message: 'This endpoint does not accept this method.' }],
  [
    409,
    { type: INVALID, code: 'invalid_state', message: 'This is not possible in the current state. Reload the page.' },
  ],
  [413, { type: INVALID, code: 'payload_too_large', message: 'The body is too large.' }],
  [415, { type: INVALID, code: 'unsupported_media_type', message: 'The body must be application/json.' }],
  [429, { type: 'rate_limit_error', code: 'rate_limit_exceeded', message: 'Too many requests. Try again later.' }],
  [500, INTERNAL],
  [503, UNAVAILABLE],
])

/**
 * Gives any refusal the service's error shape. A 5xx includes the request id but not its cause; a 429 and a 503 always
 * have one code and a `Retry-After` of at least one second.
 */
export function shapeError(refusal: SignInRefusal, requestId: string): ShapedError {
  const isKnown = (refusal.status >= 400 && refusal.status < 500) || refusal.status === 503
  const status = isKnown ? refusal.status : 500
  const row = BY_STATUS.get(status) ?? OTHER_CLIENT_ERROR
  const waits = status === 429 || status === 503
  const fixed = waits || status === 500
  const code = fixed ? row.code : (publicCode(refusal.code) ?? row.code)
  const message = fixed ? row.message : (MESSAGES[refusal.message ?? ''] ?? (refusal.message || row.message))
  const retryAfter = waits ? Math.max(1, Math.ceil(refusal.retryAfterSeconds ?? 1)) : null
  return {
    status,
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      ...(retryAfter === null ? {} : { 'retry-after': String(retryAfter) }),
    },
    body: {
      error: {
        type: row.type,
        code,
        message,
        request_id: requestId,
        ...(retryAfter === null ? {} : { retry_after: retryAfter }),
      },
    },
  }
}

function publicCode(code: string | null): string | null {
  if (code === null || !LIBRARY_CODE.test(code)) return null
  return RENAMED[code] ?? code.toLowerCase()
}

/** Parses the library's response. If the body is not its usual JSON object, code and message are empty. */
export function readRefusal(status: number, body: string, retryAfter: string | null): SignInRefusal {
  const parsed = parseObject(body)
  const seconds = retryAfter === null ? Number.NaN : Number(retryAfter)
  return {
    status,
    code: typeof parsed.code === 'string' ? parsed.code : null,
    message: [parsed.message, parsed.error_description].find((text) => typeof text === 'string') ?? null,
    retryAfterSeconds: Number.isFinite(seconds) ? seconds : null,
  }
}

function parseObject(body: string): {
  readonly code?: unknown
  readonly message?: unknown
  readonly error_description?: unknown
} {
  try {
    const value: unknown = JSON.parse(body)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
