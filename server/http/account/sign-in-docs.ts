import { SIGNUP_CREDIT } from '../../core/accounts/sign-up'
import type { FailureCode } from '../../core/failure'
import { formatUsd } from '../../core/money'
import { operationOf, type RouteDocs } from '../openapi/documented'
import { type JsonSchema, orNull, record, ref, text, yesOrNo } from '../openapi/json-schema'
import type { OpenApiOperation } from '../openapi/open-api'

const COMMON: readonly FailureCode[] = ['rate_limit_exceeded', 'internal_error', 'service_unavailable']
const WRITES: readonly FailureCode[] = [
  ...COMMON,
  'json_parse_error',
  'foreign_origin',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]

const USER = {
  id: 'RryCopFFWodUXYoMRl2x0hANDMT9DivY',
  name: 'Ada',
  email: 'ada@example.com',
  emailVerified: false,
  image: null,
  createdAt: '2026-11-21T08:56:28.490Z',
  updatedAt: '2026-11-21T08:56:28.490Z',
}
const TOKEN = 'RaIxBlESdyTJMuy4JhE0u476AOKgPi14'
const SESSION = {
  id: '43ix7sSnZVIff8t6P613ohQar6H4MAxQ',
  userId: USER.id,
  token: TOKEN,
  expiresAt: '2026-11-28T08:56:28.588Z',
  createdAt: '2026-11-21T08:56:28.588Z',
  updatedAt: '2026-11-21T08:56:28.588Z',
  ipAddress: '127.0.0.1',
  userAgent: 'curl/8.14.1',
}

const email = text('E-mail address.', { format: 'email', maxLength: 254 })
const password = text('The password.', { minLength: 12, maxLength: 256 })
const PASSWORD = 'correct horse battery'

const signedIn = (more: Readonly<Record<string, JsonSchema>> = {}) =>
  record('Signed in; the session is in the cookie of this answer.', {
    ...more,
    token: text('The session token. The cookie holds it signed.'),
    user: ref('User'),
  })

/** The sign-in library answers under one wildcard route, which no generator can look into. */
const SIGN_IN_DOCS = {
  '/api/auth/sign-up/email': {
    post: {
      id: 'signUp',
      tag: 'Sign-in',
      summary: 'Sign up',
      description: `Makes a person and an account with ${formatUsd(SIGNUP_CREDIT)} USD of credit, and signs in. No card needed.`,
      access: 'anybody',
      body: {
        description: 'Who signs up.',
        schema: record('Who signs up.', { name: text('Name.', { maxLength: 200 }), email, password }),
        required: true,
        examples: { ada: { name: 'Ada', email: 'ada@example.com', password: PASSWORD } },
      },
      answers: {
        200: {
          description: 'Signed up and in.',
          schema: signedIn(),
          examples: { ada: { token: TOKEN, user: USER } },
          headers: ['Set-Cookie'],
        },
      },
      failures: WRITES,
      libraryCodes: {
        400: ['validation_error', 'password_too_short', 'password_too_long', 'invalid_email', 'invalid_name'],
        422: ['user_already_exists'],
      },
    },
  },
  '/api/auth/sign-in/email': {
    post: {
      id: 'signIn',
      tag: 'Sign-in',
      summary: 'Sign in',
      description: 'Opens a session of 7 days, which using it extends.',
      access: 'anybody',
      body: {
        description: 'Who signs in.',
        schema: record('Who signs in.', { email, password: text('The password.') }),
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
      libraryCodes: { 400: ['validation_error', 'invalid_email'], 401: ['invalid_email_or_password'] },
    },
  },
  '/api/auth/sign-out': {
    post: {
      id: 'signOut',
      tag: 'Sign-in',
      summary: 'Sign out',
      description: 'Ends the session and takes its cookie away.',
      access: 'session',
      answers: {
        200: {
          description: 'Signed out.',
          schema: record('The verdict.', { success: yesOrNo('Always true.') }),
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
      description: 'The session behind the cookie and its person, or null for none.',
      access: 'session',
      answers: {
        200: {
          description: 'The session, or null.',
          schema: orNull(record('Who is signed in.', { session: ref('Session'), user: ref('User') })),
          examples: { ada: { session: SESSION, user: USER }, nobody: null },
        },
      },
      failures: COMMON,
    },
  },
} as const satisfies Record<string, Record<string, RouteDocs>>

/** The paths of sign-in, as operations of the document. */
export function signInPaths(): Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>> {
  return Object.fromEntries(
    Object.entries(SIGN_IN_DOCS).map(([path, methods]) => [
      path,
      Object.fromEntries(
        Object.entries(methods).map(([method, docs]: [string, RouteDocs]) => [
          method,
          operationOf(docs, docs.access, []),
        ]),
      ),
    ]),
  )
}
