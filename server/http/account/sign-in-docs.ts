import { SIGNUP_CREDIT } from '../../core/accounts/signup-credit'
import { formatUsd } from '../../core/money'
import { operationOf } from '../openapi/documented'
import { orNull, record, ref, text, yesOrNo } from '../openapi/json-schema'
import type { OpenApiOperation } from '../openapi/open-api'
import { SECOND_FACTOR_DOCS } from './second-factor-docs'
import {
  COMMON,
  email,
  PASSWORD,
  password,
  SESSION,
  type SignInDocs,
  signedIn,
  TOKEN,
  USER,
  WRITES,
} from './shared-sign-in-docs'

/**
 * The sign-in library answers these, most of them behind one wildcard route, which the generator cannot see into. So they are described
 * here; those that have a route of their own (`sign-in-routes.ts`) are hidden there.
 */
const SIGN_IN_DOCS = {
  '/api/auth/sign-up/email': {
    post: {
      id: 'signUp',
      tag: 'Sign-in',
      summary: 'Sign up',
      description: `Creates a user and an account with ${formatUsd(SIGNUP_CREDIT)} USD of credit, and signs in. No card needed. A gateway that sends mail mails a link first, whether or not the address is taken: \`token\` is null, and the credit and the first sign-in wait for the confirmation.`,
      access: 'anybody',
      body: {
        description: 'The new user.',
        schema: record('The new user.', { name: text('Name.', { maxLength: 200 }), email, password }),
        required: true,
        examples: { ada: { name: 'Ada', email: 'ada@example.com', password: PASSWORD } },
      },
      answers: {
        200: {
          description: 'Signed up and signed in.',
          schema: signedIn(),
          examples: { ada: { token: TOKEN, user: USER } },
          headers: ['Set-Cookie'],
        },
      },
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
    },
  },
  '/api/auth/sign-in/email': {
    post: {
      id: 'signIn',
      tag: 'Sign-in',
      summary: 'Sign in',
      description:
        'Opens a session that lasts 7 days. If the owner has an authenticator app, the body is `twoFactorRedirect: true` instead, and the session begins with its code at `/api/auth/two-factor/verify-totp` or a recovery code at `/api/auth/two-factor/verify-backup-code`. From the 5th failure of an address on, attempts have to wait.',
      access: 'anybody',
      body: {
        description: 'The credentials.',
        schema: record('The credentials.', { email, password: text('The password.') }),
        required: true,
        examples: { ada: { email: 'ada@example.com', password: PASSWORD } },
      },
      answers: {
        200: {
          description: 'Signed in.',
          schema: signedIn({ redirect: yesOrNo('Always false.') }),
          examples: { ada: { redirect: false, token: TOKEN, user: USER } },
          headers: ['Set-Cookie'],
        },
      },
      failures: WRITES,
      libraryCodes: {
        400: ['validation_error', 'invalid_email'],
        401: ['invalid_email_or_password'],
        403: ['email_not_confirmed'],
      },
    },
  },
  '/api/auth/sign-out': {
    post: {
      id: 'signOut',
      tag: 'Sign-in',
      summary: 'Sign out',
      description: 'Ends the session and clears its cookie.',
      access: 'session',
      answers: {
        200: {
          description: 'Signed out.',
          schema: record('The result.', { success: yesOrNo('Always true.') }),
          examples: { done: { success: true } },
          headers: ['Set-Cookie'],
        },
      },
      failures: WRITES,
    },
  },
  '/api/auth/get-session': {
    get: {
      id: 'getSession',
      tag: 'Sign-in',
      summary: 'Who is signed in',
      description: 'The session of the cookie and its user, or null if there is none.',
      access: 'session',
      answers: {
        200: {
          description: 'The session, or null.',
          schema: orNull(record('The session and its user.', { session: ref('Session'), user: ref('User') })),
          examples: { ada: { session: SESSION, user: USER }, nobody: null },
        },
      },
      failures: COMMON,
    },
  },
} as const satisfies Record<string, Record<string, SignInDocs>>

/** The sign-in paths, as OpenAPI operations. */
export function signInPaths(): Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>> {
  return Object.fromEntries(
    Object.entries({ ...SIGN_IN_DOCS, ...SECOND_FACTOR_DOCS }).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, docs]: [string, SignInDocs]) => [
          method,
          operationOf(docs, docs.access, []),
        ]),
      ),
    ]),
  )
}
