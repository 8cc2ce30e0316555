import { expect, test } from 'bun:test'
import { notForwarded } from '../../../server/compose/cluster/calls/not-forwarded'
import { OPERATOR } from '../../../server/core/cluster/hop'

/** What is said where a node took a request and is gone: whether it ran is unknown. */
async function said(path: string, address = '203.0.113.7'): Promise<string> {
  const request = new Request(`http://localhost${path}`, { method: 'POST' })
  const call = { address, requestId: `req_${'0a'.repeat(16)}` } as const
  const answer = notForwarded(request, call, { outcome: 'unknown', reason: 'the connection broke' })
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1'])
  const { error } = (await answer.json()) as { error: { message: string } }
  expect(error.message).toStartWith('The node that handled this request is gone, so its outcome is unknown. ')
  return error.message
}

test('a call can be looked up, or sent again with its Idempotency-Key', async () => {
  for (const path of ['/v1/chat/completions', '/apis/v1/websearch/llm/context', '/mcp'])
    expect(await said(path)).toContain('the same Idempotency-Key')
})

test('an owner or operator looks whether the change is done: it is no call, and has no Idempotency-Key', async () => {
  for (const path of ['/api/keys', '/api/operator/accounts/acct_1/grant', '/api/auth/sign-up/email'])
    expect(await said(path)).toEndWith('Check whether it took effect before you send it again.')
})

test("an operator's command is not repeated unseen, because a grant without a reference would be booked twice", async () => {
  expect(await said('/internal/command/grant', OPERATOR)).toContain(
    'before you repeat it. With a --reference, no grant',
  )
})
