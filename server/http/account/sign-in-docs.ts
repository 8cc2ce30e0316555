import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../core/accounts/password'
import { SIGNUP_CREDIT } from '../../core/accounts/signup-credit'
import type { FailureCode } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { type Access, type EndpointDocs, operationOf, requestBody } from '../openapi/documented'
import {
  instant,
  type JsonSchema,
  listOf,
  named,
  oneOf,
  opaque,
  orNull,
  record,
  text,
  whole,
  withExample,
  yesOrNo,
} from '../openapi/json-schema'
import type { OpenApiOperation } from '../openapi/open-api'

/** Says the access by itself: most routes of the sign-in library are one wildcard route, which declares that the library decides. */
interface SignInDocs extends Omit<EndpointDocs, 'tag'> {
  readonly access: Extract<Access, 'session' | 'anybody'>
}

const COMMON: readonly FailureCode[] = ['rate_limit_exceeded', 'internal_error', 'service_unavailable']
const WRITES: readonly FailureCode[] = [
  ...COMMON,
  'json_parse_error',
  'foreign_origin',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]

const User = named(
  'User',
  record('A user.', {
    id: text('Id of the user.'),
    name: text('Name.'),
    email: text('Email address.', { format: 'email' }),
    emailVerified: yesOrNo('Whether the email address is verified.'),
    twoFactorEnabled: yesOrNo('Whether an authenticator app is set up.'),
    image: orNull(text('Always null; pictures are not stored.')),
    createdAt: instant('When the user signed up.'),
    updatedAt: instant('When the user last changed.'),
  }),
)
const Session = named(
  'Session',
  record('A session of a user.', {
    id: text('Id of the session.'),
    userId: text('Id of the user.'),
    token: text('The session token. The cookie contains it signed.'),
    expiresAt: instant('When it expires unless it is used before then.'),
    createdAt: instant('When the user signed in.'),
    updatedAt: instant('When it was last extended.'),
    ipAddress: orNull(text('IP address of the sign-in.')),
    userAgent: orNull(text('User agent of the sign-in.')),
    lastSeenAt: orNull(instant('When it was last used, to the minute.'), 'not used yet'),
    activeOrganizationId: orNull(text('Id of the workspace that it shows.'), "the user's own"),
    secondFactor: orNull(yesOrNo('Whether it began with a second factor.'), 'it did not'),
  }),
)

const RECENT: readonly FailureCode[] = [
  'missing_session',
  'account_suspended',
  'recent_sign_in_required',
  'second_factor_required',
]
const recoveryCodes = listOf(
  withExample('k7dm-3xqp-9fwa-t2hz', text('A recovery code.')),
  'Ten codes, each for one sign-in. They are shown here and never again.',
)
const PASSKEYS_NEED = 'Passkeys need a `BASE_URL` with a host name: elsewhere the answer is 409 `invalid_state`.'
const PASSKEY_FAILURES: readonly FailureCode[] = ['invalid_state']
const RECENT_NOTE = 'Needs a sign-in of the last ten minutes, with the second factor if there is one.'

const passkey = record('A passkey. The private half never leaves its device.', {
  id: text('Id of the passkey.'),
  name: orNull(text('The name that its owner gave it.')),
  publicKey: text('The public key (COSE), in base64.'),
  userId: text('Id of its owner.'),
  credentialID: text('The id that its authenticator knows it by.'),
  counter: whole('Uses that its authenticator counted. A smaller number at a sign-in is refused.', { minimum: 0 }),
  deviceType: oneOf(['singleDevice', 'multiDevice'], 'Whether it can be on several devices.'),
  backedUp: yesOrNo('Whether a copy is kept elsewhere.'),
  transports: orNull(text('How its authenticator is reached, separated by commas.')),
  createdAt: orNull(instant('When it was added.')),
  aaguid: orNull(text('The model of its authenticator.')),
})
const webAuthn = (description: string, member: string) =>
  opaque({
    type: 'object',
    description: `${description} (WebAuthn, as JSON).`,
    properties: { [member]: { type: 'string' } },
    required: [member],
    additionalProperties: true,
  })
const done = record('The result.', { status: yesOrNo('Always true.') })
const signedIn = (more: Readonly<Record<string, JsonSchema>> = {}) =>
  record('Signed in. The session cookie is set by this response.', {
    ...more,
    token: orNull(text('The session token. The cookie contains it signed.'), 'the address must be confirmed first'),
    user: User,
  })

const email = text('Email address.', { format: 'email', maxLength: 254 })
const password = text('The password.', { minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH })
const PASSWORD = 'correct horse battery'
const PASSKEY_ID = 'imFCenVfBeFA8hc7wgCX4w3EXyB8FIoD'
const CREDENTIAL_ID = 'pJ53zgVOqaGZ8kFQqC2g5A'

const body = (description: string, schema: JsonSchema, example: unknown) =>
  requestBody(description, schema, { example })
const confirmation = body('The password once more.', record('The password.', { password: text('The password.') }), {
  password: PASSWORD,
})
const code = (description: string, example: string) =>
  body('The code.', record('The code.', { code: text(description) }), { code: example })

const answer = (description: string, schema: JsonSchema) => ({ 200: { description, schema } })
const cookieAnswer = (description: string, schema: JsonSchema) => ({
  200: { description, schema, headers: ['Set-Cookie'] as const },
})

const get = (docs: SignInDocs) => ({ method: 'get', docs })
const post = (docs: SignInDocs) => ({ method: 'post', docs })

/**
 * The paths of the sign-in library. Most of them are behind one wildcard route, which the generator cannot see into;
 * those that have a route of their own (`sign-in-routes.ts`) are hidden there. The library's own OpenAPI output differs from what it answers.
 */
const SIGN_IN_DOCS = {
  '/api/auth/sign-up/email': post({
    id: 'signUp',
    summary: 'Sign up',
    description: `Creates a user and an account with ${formatUsd(SIGNUP_CREDIT)} USD of credit, and signs in. No card needed. A gateway that sends mail mails a link first, whether or not the address is taken: \`token\` is null, and the credit and the first sign-in wait for the confirmation.`,
    access: 'anybody',
    body: body('The new user.', record('The new user.', { name: text('Name.', { maxLength: 200 }), email, password }), {
      name: 'Ada',
      email: 'ada@example.com',
      password: PASSWORD,
    }),
    answers: cookieAnswer('Signed up and signed in.', signedIn()),
    failures: WRITES,
    libraryCodes: {
      400: [
        'validation_error',
        'password_too_short',
        'password_too_weak',
        'password_too_long',
        'invalid_email',
        'invalid_name',
      ],
      422: ['user_already_exists'],
    },
  }),
  '/api/auth/sign-in/email': post({
    id: 'signIn',
    summary: 'Sign in',
    description:
      'Opens a session that lasts 7 days. If the owner has an authenticator app, the body is `twoFactorRedirect: true` instead, and the session begins with its code at `/api/auth/two-factor/verify-totp` or a recovery code at `/api/auth/two-factor/verify-backup-code`. From the 5th failure of an address on, attempts have to wait.',
    access: 'anybody',
    body: body('The credentials.', record('The credentials.', { email, password: text('The password.') }), {
      email: 'ada@example.com',
      password: PASSWORD,
    }),
    answers: cookieAnswer('Signed in.', signedIn({ redirect: yesOrNo('Always false.') })),
    failures: WRITES,
    libraryCodes: {
      400: ['validation_error', 'invalid_email'],
      401: ['invalid_email_or_password'],
      403: ['email_not_confirmed'],
    },
  }),
  '/api/auth/sign-out': post({
    id: 'signOut',
    summary: 'Sign out',
    description: 'Ends the session and clears its cookie.',
    access: 'session',
    answers: cookieAnswer('Signed out.', record('The result.', { success: yesOrNo('Always true.') })),
    failures: WRITES,
  }),
  '/api/auth/get-session': get({
    id: 'getSession',
    summary: 'The signed-in user',
    description: 'The session of the cookie and its user, or null if there is none.',
    access: 'session',
    answers: answer(
      'The session, or null.',
      orNull(record('The session and its user.', { session: Session, user: User })),
    ),
    failures: COMMON,
  }),
  '/api/auth/two-factor/enable': post({
    id: 'beginAuthenticatorApp',
    access: 'session',
    body: confirmation,
    summary: 'Begin to set up an authenticator app',
    description: `The link is for a QR code. The app counts from its first code on, sent to \`/api/auth/two-factor/verify-totp\`. ${RECENT_NOTE}`,
    answers: answer(
      'The secret of the app and the recovery codes.',
      record('What the owner needs.', {
        method: oneOf(['totp'], 'Always `totp`.'),
        totpURI: withExample(
          'otpauth://totp/Gateway:ada?secret=GZNG6R2UMZNGY3CB',
          text('An `otpauth:` link with the secret.'),
        ),
        backupCodes: recoveryCodes,
      }),
    ),
    failures: [...WRITES, ...RECENT],
    libraryCodes: { 400: ['validation_error', 'invalid_password', 'totp_already_enabled'] },
  }),
  '/api/auth/two-factor/verify-totp': post({
    id: 'verifyAuthenticatorCode',
    access: 'anybody',
    summary: 'Give the code of an authenticator app',
    description:
      'The second half of a sign-in, with the cookie that its first half set; or, with a session, the first code of a new app, which ends all other sessions. Each code works once. Five wrong codes end a sign-in, ten lock the second factor for 15 minutes (429 with `Retry-After`).',
    body: code('Six digits.', '492039'),
    answers: cookieAnswer('Signed in, or set up.', signedIn()),
    failures: WRITES,
    libraryCodes: {
      400: ['validation_error', 'totp_not_enabled', 'too_many_attempts_request_new_code'],
      401: ['invalid_code', 'invalid_two_factor_cookie'],
      409: ['already_signed_in', 'second_factor_unreadable'],
    },
  }),
  '/api/auth/two-factor/verify-backup-code': post({
    id: 'useRecoveryCode',
    access: 'anybody',
    summary: 'Sign in with a recovery code',
    description: 'The second half of a sign-in without the app. Each code works once; the owner is notified.',
    body: code('A recovery code, with or without hyphens.', 'k7dm-3xqp-9fwa-t2hz'),
    answers: cookieAnswer('Signed in.', signedIn()),
    failures: WRITES,
    libraryCodes: {
      400: ['validation_error', 'backup_codes_not_enabled', 'too_many_attempts_request_new_code'],
      401: ['invalid_backup_code', 'invalid_two_factor_cookie'],
      409: ['already_signed_in', 'invalid_state'],
    },
  }),
  '/api/auth/two-factor/disable': post({
    id: 'removeAuthenticatorApp',
    access: 'session',
    body: confirmation,
    summary: 'Remove the authenticator app',
    description: `Removes the app and its recovery codes. ${RECENT_NOTE}`,
    answers: cookieAnswer('Removed.', done),
    failures: [...WRITES, ...RECENT],
    libraryCodes: { 400: ['validation_error', 'invalid_password'] },
  }),
  '/api/auth/two-factor/generate-backup-codes': post({
    id: 'renewRecoveryCodes',
    access: 'session',
    body: confirmation,
    summary: 'Make new recovery codes',
    description: `The old ones no longer work. ${RECENT_NOTE}`,
    answers: answer(
      'The new codes.',
      record('The new codes.', { status: yesOrNo('Always true.'), backupCodes: recoveryCodes }),
    ),
    failures: [...WRITES, ...RECENT],
    libraryCodes: { 400: ['validation_error', 'invalid_password', 'two_factor_not_enabled'] },
  }),
  '/api/auth/passkey/generate-register-options': get({
    id: 'beginPasskey',
    access: 'session',
    summary: 'Begin to add a passkey',
    description: `The options with which the browser creates one. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
    answers: cookieAnswer('For the browser.', webAuthn('Options to create a credential', 'challenge')),
    failures: [...COMMON, ...RECENT, ...PASSKEY_FAILURES],
  }),
  '/api/auth/passkey/verify-registration': post({
    id: 'addPasskey',
    access: 'session',
    summary: 'Add a passkey',
    description: `It must verify its user, by PIN, finger or face. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
    body: body(
      'What the browser created.',
      record(
        'The new passkey.',
        { response: webAuthn('The credential that the browser created', 'id'), name: text('A name for it.') },
        ['name'],
      ),
      { response: { id: CREDENTIAL_ID }, name: 'Firefox on Linux' },
    ),
    answers: answer('Added.', passkey),
    failures: [...WRITES, ...RECENT, ...PASSKEY_FAILURES],
    libraryCodes: {
      400: ['validation_error', 'challenge_not_found', 'passkey_refused'],
      401: ['passkey_not_verified', 'you_are_not_allowed_to_register_this_passkey'],
    },
  }),
  '/api/auth/passkey/generate-authenticate-options': get({
    id: 'beginPasskeySignIn',
    access: 'anybody',
    summary: 'Begin to sign in with a passkey',
    description: `The options with which the browser asks for one. ${PASSKEYS_NEED}`,
    answers: cookieAnswer('For the browser.', webAuthn('Options to get a credential', 'challenge')),
    failures: [...COMMON, ...PASSKEY_FAILURES],
  }),
  '/api/auth/passkey/verify-authentication': post({
    id: 'signInWithPasskey',
    access: 'anybody',
    summary: 'Sign in with a passkey',
    description: `Opens a session that counts as one with a second factor. ${PASSKEYS_NEED}`,
    body: body(
      'What the browser signed.',
      record('The answer.', { response: webAuthn('The credential that the browser got', 'id') }),
      { response: { id: CREDENTIAL_ID } },
    ),
    answers: cookieAnswer('Signed in.', record('The session and its user.', { session: Session, user: User })),
    failures: [...WRITES, ...PASSKEY_FAILURES],
    libraryCodes: {
      400: ['validation_error', 'challenge_not_found', 'passkey_refused'],
      401: ['passkey_not_found', 'passkey_not_verified', 'passkey_refused'],
      403: ['email_not_confirmed'],
    },
  }),
  '/api/auth/passkey/list-user-passkeys': get({
    id: 'listPasskeys',
    access: 'session',
    summary: 'List passkeys',
    description: `The passkeys of the owner. ${PASSKEYS_NEED}`,
    answers: answer('The passkeys.', listOf(passkey, 'The passkeys.')),
    failures: [...COMMON, 'missing_session', ...PASSKEY_FAILURES],
  }),
  '/api/auth/passkey/update-passkey': post({
    id: 'renamePasskey',
    access: 'session',
    summary: 'Rename a passkey',
    description: `Changes its name. ${PASSKEYS_NEED}`,
    body: body(
      'The new name.',
      record('The new name.', { id: text('Id of the passkey.'), name: text('The name, at most 100 characters.') }),
      { id: PASSKEY_ID, name: 'My phone' },
    ),
    answers: answer('Renamed.', record('The passkey.', { passkey })),
    failures: [...WRITES, 'missing_session', ...PASSKEY_FAILURES],
    libraryCodes: { 400: ['validation_error'], 404: ['passkey_not_found'] },
  }),
  '/api/auth/passkey/delete-passkey': post({
    id: 'removePasskey',
    access: 'session',
    summary: 'Remove a passkey',
    description: `The passkey can no longer be used to sign in. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
    body: body('The passkey.', record('The passkey.', { id: text('Id of the passkey.') }), { id: PASSKEY_ID }),
    answers: answer('Removed.', done),
    failures: [...WRITES, ...RECENT, ...PASSKEY_FAILURES],
    libraryCodes: { 400: ['validation_error'], 404: ['passkey_not_found'] },
  }),
}

/** The same as OpenAPI operations. */
export function signInPaths(): Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>> {
  return Object.fromEntries(
    Object.entries(SIGN_IN_DOCS).map(([path, { method, docs }]) => [
      path,
      { [method]: operationOf({ ...docs, tag: 'Sign-in' }, docs.access, []) },
    ]),
  )
}
