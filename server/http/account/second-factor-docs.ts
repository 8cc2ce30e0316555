import type { FailureCode } from '../../core/failure'
import {
  instant,
  type JsonSchema,
  listOf,
  oneOf,
  opaque,
  orNull,
  record,
  ref,
  text,
  whole,
  yesOrNo,
} from '../openapi/json-schema'
import { COMMON, PASSWORD, SESSION, type SignInDocs, signedIn, TOKEN, USER, WRITES } from './shared-sign-in-docs'

const RECENT: readonly FailureCode[] = [
  'missing_session',
  'account_suspended',
  'recent_sign_in_required',
  'second_factor_required',
]
const CODES = ['k7dm-3xqp-9fwa-t2hz', 'b4rn-8vye-5cjs-m6ug']
const recoveryCodes = listOf(
  text('A recovery code.'),
  'Ten codes, each for one sign-in. They are shown here and never again.',
)
const PASSKEYS_NEED = 'Passkeys need a `BASE_URL` with a host name: elsewhere the answer is 409 `invalid_state`.'
const PASSKEY_FAILURES: readonly FailureCode[] = ['invalid_state']
const RECENT_NOTE = 'Needs a sign-in of the last ten minutes, with the second factor if there is one.'

const PASSKEY = {
  id: 'imFCenVfBeFA8hc7wgCX4w3EXyB8FIoD',
  name: 'Firefox on Linux',
  publicKey: 'pQECAyYgASFYIA2cpPtSuIz4CuNK2ihI00SPPn5p2WzvLkCd5MUn/FcpIlgge9YqLDAAWsB+CvT1an6FMQ0/8tXRmCB03kU2yGmJy+I=',
  userId: USER.id,
  credentialID: 'pJ53zgVOqaGZ8kFQqC2g5A',
  counter: 0,
  deviceType: 'singleDevice',
  backedUp: false,
  transports: 'internal',
  createdAt: '2026-11-23T00:57:42.150Z',
  aaguid: '00000000-0000-0000-0000-000000000000',
}
const CHALLENGE = 'k5Jx0dVqvR5tq3kX1yQmBqk0m9b2m0p4mB9yqJc3K8E'

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
const options = (what: string) =>
  opaque({
    type: 'object',
    description: `${what} (WebAuthn, as JSON).`,
    properties: { challenge: { type: 'string' } },
    required: ['challenge'],
    additionalProperties: true,
  })
const credential = (what: string) =>
  opaque({
    type: 'object',
    description: `${what} (WebAuthn, as JSON).`,
    properties: { id: { type: 'string' } },
    required: ['id'],
    additionalProperties: true,
  })
const done = record('The result.', { status: yesOrNo('Always true.') })

const body = (description: string, schema: JsonSchema, example: unknown) => ({
  ...{ description, schema, required: true, examples: { example } },
})
const answer = (description: string, schema: JsonSchema, example: unknown, setsCookie = false) => ({
  200: { description, schema, examples: { example }, ...(setsCookie && { headers: ['Set-Cookie'] as const }) },
})
const confirmation = body('The password once more.', record('The password.', { password: text('The password.') }), {
  password: PASSWORD,
})
const code = (what: string, example: string) =>
  body('The code.', record('The code.', { code: text(what) }), { code: example })
const passkeyId = record('The passkey.', { id: text('Id of the passkey.') })

/** The second factors of the sign-in library, path by path (spec-answers 14). */
export const SECOND_FACTOR_DOCS = {
  '/api/auth/two-factor/enable': {
    post: {
      ...{ id: 'beginAuthenticatorApp', tag: 'Sign-in', access: 'session', body: confirmation },
      summary: 'Begin to set up an authenticator app',
      description: `The link is for a QR code. The app counts from its first code on, sent to \`/api/auth/two-factor/verify-totp\`. ${RECENT_NOTE}`,
      answers: answer(
        'The secret of the app and the recovery codes.',
        record('What the owner needs.', {
          method: oneOf(['totp'], 'Always `totp`.'),
          totpURI: text('An `otpauth:` link with the secret.'),
          backupCodes: recoveryCodes,
        }),
        { method: 'totp', totpURI: 'otpauth://totp/Gateway:ada?secret=GZNG6R2UMZNGY3CB', backupCodes: CODES },
      ),
      failures: [...WRITES, ...RECENT],
      libraryCodes: { 400: ['validation_error', 'invalid_password', 'totp_already_enabled'] },
    },
  },
  '/api/auth/two-factor/verify-totp': {
    post: {
      ...{ id: 'verifyAuthenticatorCode', tag: 'Sign-in', access: 'anybody' },
      summary: 'Give the code of an authenticator app',
      description:
        'The second half of a sign-in, with the cookie that its first half set; or, with a session, the first code of a new app, which ends all other sessions. Each code works once. Five wrong codes end a sign-in, ten lock the second factor for 15 minutes (429 with `Retry-After`).',
      body: code('Six digits.', '492039'),
      answers: answer('Signed in, or set up.', signedIn(), { token: TOKEN, user: USER }, true),
      failures: WRITES,
      libraryCodes: {
        400: ['validation_error', 'totp_not_enabled', 'too_many_attempts_request_new_code'],
        401: ['invalid_code', 'invalid_two_factor_cookie'],
        409: ['already_signed_in', 'second_factor_unreadable'],
      },
    },
  },
  '/api/auth/two-factor/verify-backup-code': {
    post: {
      ...{ id: 'useRecoveryCode', tag: 'Sign-in', access: 'anybody' },
      summary: 'Sign in with a recovery code',
      description: 'The second half of a sign-in without the app. Each code works once; the owner is notified.',
      body: code('A recovery code, with or without hyphens.', CODES[0] ?? ''),
      answers: answer('Signed in.', signedIn(), { token: TOKEN, user: USER }, true),
      failures: WRITES,
      libraryCodes: {
        400: ['validation_error', 'backup_codes_not_enabled', 'too_many_attempts_request_new_code'],
        401: ['invalid_backup_code', 'invalid_two_factor_cookie'],
        409: ['already_signed_in', 'invalid_state'],
      },
    },
  },
  '/api/auth/two-factor/disable': {
    post: {
      ...{ id: 'removeAuthenticatorApp', tag: 'Sign-in', access: 'session', body: confirmation },
      summary: 'Remove the authenticator app',
      description: `Removes the app and its recovery codes. ${RECENT_NOTE}`,
      answers: answer('Removed.', done, { status: true }, true),
      failures: [...WRITES, ...RECENT],
      libraryCodes: { 400: ['validation_error', 'invalid_password'] },
    },
  },
  '/api/auth/two-factor/generate-backup-codes': {
    post: {
      ...{ id: 'renewRecoveryCodes', tag: 'Sign-in', access: 'session', body: confirmation },
      summary: 'Make new recovery codes',
      description: `The old ones no longer work. ${RECENT_NOTE}`,
      answers: answer(
        'The new codes.',
        record('The new codes.', { status: yesOrNo('Always true.'), backupCodes: recoveryCodes }),
        { status: true, backupCodes: CODES },
      ),
      failures: [...WRITES, ...RECENT],
      libraryCodes: { 400: ['validation_error', 'invalid_password', 'two_factor_not_enabled'] },
    },
  },
  '/api/auth/passkey/generate-register-options': {
    get: {
      ...{ id: 'beginPasskey', tag: 'Sign-in', access: 'session' },
      summary: 'Begin to add a passkey',
      description: `What the browser needs to create one. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
      answers: answer('For the browser.', options('Options to create a credential'), { challenge: CHALLENGE }, true),
      failures: [...COMMON, ...RECENT, ...PASSKEY_FAILURES],
    },
  },
  '/api/auth/passkey/verify-registration': {
    post: {
      ...{ id: 'addPasskey', tag: 'Sign-in', access: 'session' },
      summary: 'Add a passkey',
      description: `It must verify its user, by PIN, finger or face. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
      body: body(
        'What the browser created.',
        record(
          'The new passkey.',
          { response: credential('The credential that the browser created'), name: text('A name for it.') },
          ['name'],
        ),
        { response: { id: PASSKEY.credentialID }, name: PASSKEY.name },
      ),
      answers: answer('Added.', passkey, PASSKEY),
      failures: [...WRITES, ...RECENT, ...PASSKEY_FAILURES],
      libraryCodes: {
        400: ['validation_error', 'challenge_not_found', 'passkey_refused'],
        401: ['passkey_not_verified', 'you_are_not_allowed_to_register_this_passkey'],
      },
    },
  },
  '/api/auth/passkey/generate-authenticate-options': {
    get: {
      ...{ id: 'beginPasskeySignIn', tag: 'Sign-in', access: 'anybody' },
      summary: 'Begin to sign in with a passkey',
      description: `What the browser needs to ask for one. ${PASSKEYS_NEED}`,
      answers: answer('For the browser.', options('Options to get a credential'), { challenge: CHALLENGE }, true),
      failures: [...COMMON, ...PASSKEY_FAILURES],
    },
  },
  '/api/auth/passkey/verify-authentication': {
    post: {
      ...{ id: 'signInWithPasskey', tag: 'Sign-in', access: 'anybody' },
      summary: 'Sign in with a passkey',
      description: `Opens a session that counts as one with a second factor. ${PASSKEYS_NEED}`,
      body: body(
        'What the browser signed.',
        record('The answer.', { response: credential('The credential that the browser got') }),
        { response: { id: PASSKEY.credentialID } },
      ),
      answers: answer(
        'Signed in.',
        record('The session and its user.', { session: ref('Session'), user: ref('User') }),
        { session: { ...SESSION, secondFactor: true }, user: USER },
        true,
      ),
      failures: [...WRITES, ...PASSKEY_FAILURES],
      libraryCodes: {
        400: ['validation_error', 'challenge_not_found', 'passkey_refused'],
        401: ['passkey_not_found', 'passkey_not_verified', 'passkey_refused'],
        403: ['email_not_confirmed'],
      },
    },
  },
  '/api/auth/passkey/list-user-passkeys': {
    get: {
      ...{ id: 'listPasskeys', tag: 'Sign-in', access: 'session' },
      summary: 'List passkeys',
      description: `The passkeys of the owner. ${PASSKEYS_NEED}`,
      answers: answer('The passkeys.', listOf(passkey, 'The passkeys.'), [PASSKEY]),
      failures: [...COMMON, 'missing_session', ...PASSKEY_FAILURES],
    },
  },
  '/api/auth/passkey/update-passkey': {
    post: {
      ...{ id: 'renamePasskey', tag: 'Sign-in', access: 'session' },
      summary: 'Rename a passkey',
      description: `Changes its name. ${PASSKEYS_NEED}`,
      body: body(
        'The new name.',
        record('The new name.', { id: text('Id of the passkey.'), name: text('The name, at most 100 characters.') }),
        { id: PASSKEY.id, name: 'My phone' },
      ),
      answers: answer('Renamed.', record('The passkey.', { passkey }), { passkey: { ...PASSKEY, name: 'My phone' } }),
      failures: [...WRITES, 'missing_session', ...PASSKEY_FAILURES],
      libraryCodes: { 400: ['validation_error'], 404: ['passkey_not_found'] },
    },
  },
  '/api/auth/passkey/delete-passkey': {
    post: {
      ...{ id: 'removePasskey', tag: 'Sign-in', access: 'session' },
      summary: 'Remove a passkey',
      description: `The passkey can no longer be used to sign in. ${RECENT_NOTE} ${PASSKEYS_NEED}`,
      body: body('The passkey.', passkeyId, { id: PASSKEY.id }),
      answers: answer('Removed.', done, { status: true }),
      failures: [...WRITES, ...RECENT, ...PASSKEY_FAILURES],
      libraryCodes: { 400: ['validation_error'], 404: ['passkey_not_found'] },
    },
  },
} as const satisfies Record<string, Record<string, SignInDocs>>
