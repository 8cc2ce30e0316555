import { expect, test } from 'bun:test'
import { safeRedirect } from '../../dashboard/src/safe-redirect'

test.each([
  ['another host', 'https://evil.example/'],
  ['a host without a scheme', '//evil.example'],
  ['a backslash for a slash', '/\\evil.example'],
  ['a backslash further on', '/a\\..\\\\evil.example'],
  ['a tab that browsers drop', '/\t/evil.example'],
  ['a line break that browsers drop', '/\n/evil.example'],
  ['a script', 'javascript:alert(1)'],
  ['no path', 'evil.example'],
  ['no text', ['/keys']],
])('after a sign-in %s is not redirected to', (_, to) => {
  expect(safeRedirect(to)).toBeUndefined()
})

test('after a sign-in our own page is', () => {
  for (const to of ['/', '/keys?status=revoked', '/usage#log', '/device?user_code=ABCD1234'])
    expect(safeRedirect(to)).toBe(to)
})
