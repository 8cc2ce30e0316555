import { expect, test } from 'bun:test'
import { failure, wrongParameters } from '../../../server/core/failure'
import { failureNote } from '../../../server/core/usage/failure-note'

const wrong = (param: string, rule: string) =>
  failureNote(
    wrongParameters([{ param, in: 'body', code: 'invalid_parameter', rule, received: 'hunter2' }]),
    '/apis/v1/weather/orders',
  )

test.each([
  ['count', 'must be an integer from 1 to 200', 'count must be an integer from 1 to 200'],
  ['messages[0].content[12].type', 'is not known', 'messages[0].content[12].type is not known'],
  ['goggles', 'line 1: "hunter2" is no option', 'goggles line 1: "..." is no option'],
  ['goggles', 'line 1: "hunter"2" is no option', 'goggles line 1: "..." is no option'],
  ['body', '/items/0/price must be a number', 'body /items/0/price must be a number'],
  ['body', '/hunter2 is not declared', 'body a property of it is not declared'],
  ['body', '/x is hunter2 is not declared', 'body a property of it is not declared'],
  ['body', '/x must be\nhunter2 is not declared', 'body a property of it is not declared'],
  ['hunter2', 'is not a known property', 'A parameter is not valid.'],
  ['my secret', 'is not a known property', 'A parameter is not valid.'],
])('the note of a wrong %s that %p is: %s', (param, rule, message) => {
  expect(wrong(param, rule).message).toBe(message)
  expect(JSON.stringify(wrong(param, rule))).not.toContain('hunter2')
})

test('of other failures the message is kept, cut at 300 characters; of what an upstream answered only the status', () => {
  const long = failureNote(failure('service_unavailable', 'x'.repeat(1000)), null)
  expect(long).toEqual({ route: null, message: `${'x'.repeat(300)}...`, param: null, rule: null })
  const passThrough = { status: 418, contentType: 'text/plain', body: 'hunter2' }
  expect(failureNote(failure('upstream_error', 'm', { passThrough }), '/v1/x').message).toContain('status 418')
})

test("neither a caller's address nor the type of a part of a message is kept", () => {
  const blocked = failure('ip_not_allowed', "198.51.100.9 is not in this key's list of allowed addresses.")
  expect(failureNote(blocked, null).message).toBe("The call did not come from the key's list of allowed addresses.")
  const part = failure('unsupported_parameter', 'messages.hunter is not available', { param: 'messages.hunter' })
  expect(failureNote(part, null)).toMatchObject({ param: 'messages', message: expect.not.stringContaining('hunter') })
})

// A pattern that takes exponential time would not end.
test.each(['a.'.repeat(50_000), '[1]'.repeat(50_000), `/${'a is '.repeat(20_000)}`])(
  'a long hostile name is not kept',
  (name) => {
    expect(wrong(name, 'is not known').param).toBeNull()
    expect(wrong('body', name).message.length).toBeLessThan(400)
  },
)
