import { describe, expect, test } from 'bun:test'
import { readRefusal, shapeError } from '../../../server/adapters/identity/error-shape'

const shape = (status: number, body: unknown, retryAfter: string | null = null) =>
  shapeError(readRefusal(status, typeof body === 'string' ? body : JSON.stringify(body), retryAfter), 'req_1')

describe('the shared error shape (spec D2)', () => {
  test.each([
    [400, 'invalid_request_error', 'invalid_request'],
    [401, 'authentication_error', 'missing_session'],
    [403, 'permission_error', 'insufficient_permissions'],
    [404, 'invalid_request_error', 'unknown_endpoint'],
    [405, 'invalid_request_error', 'method_not_allowed'],
    [409, 'invalid_request_error', 'invalid_state'],
    [413, 'invalid_request_error', 'payload_too_large'],
    [415, 'invalid_request_error', 'unsupported_media_type'],
    [422, 'invalid_request_error', 'invalid_request'],
    [429, 'rate_limit_error', 'rate_limit_exceeded'],
    [500, 'api_error', 'internal_error'],
    [503, 'api_error', 'service_unavailable'],
  ])('gives a bare %i a type, a code and a message', (status, type, code) => {
    const shaped = shape(status, '')
    expect(shaped.status).toBe(status)
    expect(shaped.body.error).toMatchObject({ type, code, request_id: 'req_1' })
    expect(shaped.body.error.message.length).toBeGreaterThan(5)
  })

  test("writes the library's code in lower case, and its message in our own words", () => {
    const { error } = shape(401, { code: 'INVALID_EMAIL_OR_PASSWORD', message: 'Invalid email or password' }).body
    expect(error).toMatchObject({ code: 'invalid_email_or_password', message: 'Email or password is wrong.' })
  })

  test('keeps a message that has no translation, and reads the description of an OAuth error', () => {
    expect(shape(400, { code: 'SOME_NEW_CODE', message: 'Something new' }).body.error.message).toBe('Something new')
    const oauth = { error: 'invalid_request', error_description: 'Invalid user code' }
    expect(shape(400, oauth).body.error).toMatchObject({
      code: 'invalid_request',
      message: 'This code is unknown, has expired or was already used. Get a new code on your device.',
    })
  })

  test.each(['INVALID_ORIGIN', 'MISSING_OR_NULL_ORIGIN', 'CROSS_SITE_NAVIGATION_LOGIN_BLOCKED'])(
    'calls %s foreign_origin',
    (code) => {
      expect(shape(403, { code }).body.error).toMatchObject({ type: 'permission_error', code: 'foreign_origin' })
    },
  )

  test('rejects a code that is not a valid name', () => {
    expect(shape(400, { code: '<b>', message: 7 }).body.error).toMatchObject({ code: 'invalid_request' })
    expect(shape(400, { code: 12 }).body.error.code).toBe('invalid_request')
  })

  test('reveals nothing about an internal failure', () => {
    for (const status of [500, 502, 503, 599, 302]) {
      const shaped = shape(status, { code: 'FAILED_TO_GET_SESSION', message: 'SQLITE_BUSY at /var/db' })
      expect(shaped.status).toBe(status === 503 ? 503 : 500)
      expect(JSON.stringify(shaped)).not.toMatch(/SQLITE|FAILED|failed_to/)
    }
  })

  test('a 429 always has Retry-After in whole seconds, at least one', () => {
    expect(shape(429, {}, '17')).toMatchObject({
      headers: { 'retry-after': '17' },
      body: { error: { retry_after: 17 } },
    })
    expect(shape(429, {}, '0').headers['retry-after']).toBe('1')
    expect(shape(429, {}, 'soon').headers['retry-after']).toBe('1')
    expect(shape(429, {}).headers['retry-after']).toBe('1')
  })

  test.each(['', 'Not Found', '[]', 'null', '"x"', '{"error":'])('reads a body of %p without throwing', (body) => {
    expect(shape(404, body).body.error.code).toBe('unknown_endpoint')
  })
})
