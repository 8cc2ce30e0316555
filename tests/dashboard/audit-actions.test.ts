import { expect, test } from 'bun:test'
import { AUDIT_TEXT } from '../../dashboard/src/messages/audit'
import { auditAction } from '../../dashboard/src/messages/audit-actions'

test('the audit log names every action, also of sign-ins, and filters by stuck records and moves of the database', () => {
  expect(auditAction('account.passkey_added')).toBe('Passkey added')
  expect(auditAction('account.new_browser')).toBe('Sign-in from a new browser')
  expect(Object.keys(AUDIT_TEXT.actions)).toContain('stuck')
  expect(Object.keys(AUDIT_TEXT.actions)).toContain('data')
})

test.each([
  ['key.seal', 'Key: seal'],
  ['constructor', 'Constructor'],
])('the audit log shows %s, which this version does not write, as "%s"', (action, words) => {
  expect(auditAction(action)).toBe(words)
})
