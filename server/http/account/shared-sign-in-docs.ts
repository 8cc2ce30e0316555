import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH } from '../../core/accounts/password'
import type { FailureCode } from '../../core/failure'
import type { Access, EndpointDocs } from '../openapi/documented'
import { type JsonSchema, orNull, record, ref, text } from '../openapi/json-schema'

/** Says the access by itself: most routes of the sign-in library are one wildcard route, which declares that the library decides. */
export interface SignInDocs extends EndpointDocs {
  readonly access: Extract<Access, 'session' | 'anybody'>
}

export const COMMON: readonly FailureCode[] = ['rate_limit_exceeded', 'internal_error', 'service_unavailable']
export const WRITES: readonly FailureCode[] = [
  ...COMMON,
  'json_parse_error',
  'foreign_origin',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
]

export const USER = {
  id: 'RryCopFFWodUXYoMRl2x0hANDMT9DivY',
  name: 'Ada',
  email: 'ada@example.com',
  emailVerified: false,
  twoFactorEnabled: false,
  image: null,
  createdAt: '2026-11-21T08:56:28.490Z',
  updatedAt: '2026-11-21T08:56:28.490Z',
}
export const TOKEN = 'RaIxBlESdyTJMuy4JhE0u476AOKgPi14'
export const SESSION = {
  id: '43ix7sSnZVIff8t6P613ohQar6H4MAxQ',
  userId: USER.id,
  token: TOKEN,
  expiresAt: '2026-11-28T08:56:28.588Z',
  createdAt: '2026-11-21T08:56:28.588Z',
  updatedAt: '2026-11-21T08:56:28.588Z',
  ipAddress: '127.0.0.1',
  userAgent: 'curl/8.14.1',
  lastSeenAt: null,
  secondFactor: false,
}

export const email = text('Email address.', { format: 'email', maxLength: 254 })
export const password = text('The password.', { minLength: MIN_PASSWORD_LENGTH, maxLength: MAX_PASSWORD_LENGTH })
export const PASSWORD = 'correct horse battery'

export const signedIn = (more: Readonly<Record<string, JsonSchema>> = {}) =>
  record('Signed in. The session cookie is set by this response.', {
    ...more,
    token: orNull(text('The session token. The cookie contains it signed.'), 'the address must be confirmed first'),
    user: ref('User'),
  })
