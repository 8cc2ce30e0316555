import { describe, expect, test } from 'bun:test'
import { parseFailure } from '../../dashboard/src/api/client/failure'
import { failureAction } from '../../dashboard/src/messages/failures'
import { failure } from '../../server/core/failure'
import { failureBody } from '../../server/http/middleware/response/failures'

describe('a failure in the dashboard', () => {
  test.each(['/v1/chat/completions', '/v1/messages', '/v1beta/models/m:generateContent'])(
    'of %s has the code, the message and the request id of the server',
    (path) => {
      const body = failureBody(failure('model_not_allowed', 'acme/large is not in the list.'), 'req_1', path)
      expect(parseFailure(403, body)).toMatchObject({
        code: 'model_not_allowed',
        message: 'acme/large is not in the list.',
        requestId: 'req_1',
      })
    },
  )

  test('that is unreadable says so, with its status', () => {
    expect(parseFailure(502, null).message).toBe('The gateway returned an unreadable response (status 502). Try again.')
  })

  test('offers an action by its code and place', () => {
    expect(failureAction('insufficient_balance', 'request')).toMatchObject({ label: 'Top up', to: '/billing' })
    expect(failureAction('rate_limit_exceeded', 'request')).toMatchObject({ label: 'View limits' })
    expect(failureAction('recent_sign_in_required', 'dashboard')).toMatchObject({ kind: 'sign_in' })
    // One code of many places: what helped a key does not help a form.
    expect(failureAction('invalid_state', 'dashboard')).toBeNull()
    expect(failureAction('insufficient_permissions', 'dashboard')).toBeNull()
  })

  test.each(['constructor', '__proto__', 'context_length_exceeded', ''])(
    'with the unknown code "%s" offers none',
    (code) => {
      expect(failureAction(code, 'request')).toBeNull()
    },
  )
})
