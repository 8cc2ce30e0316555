import { expect, test } from 'bun:test'
import { openHarness } from '../../support/harness'
import { type AccountBody, closeReconciled, read } from '../owner-bench'

test('the log has each act of an operator and of the console once, by every way in, and nothing else of the audit', async () => {
  const gateway = await openHarness()
  const operator = await gateway.owner('root@example.com')
  const customer = await gateway.owner('ada@example.com')
  const { id } = await read<AccountBody>(customer.api('/api/account'))
  await read(customer.api('/api/keys', { name: 'her own act' }), 201)
  await read(operator.api(`/api/operator/accounts/${id}/suspend`, { reason: 'Spam' }))
  expect((await operator.api(`/api/operator/accounts/acct_none/suspend`, { reason: 'Nobody' })).ok).toBe(false)
  await read(gateway.control(`/accounts/${id}/grants`, { usd: '5', note: 'sorry' }))
  await closeReconciled(gateway)
  const acts = gateway.logged.flatMap((line) => {
    const [, fields] = line.split(' info an operator acted ')
    return fields === undefined ? [] : [JSON.parse(fields)]
  })
  expect(acts).toEqual([
    {
      action: 'account.suspend',
      by: expect.stringMatching(/^[A-Za-z0-9]{32}$/),
      account: id,
      audit: expect.stringMatching(/^audit_/),
    },
    { action: 'account.grant', by: 'console', account: id, audit: expect.stringMatching(/^audit_/) },
  ])
  expect(gateway.logged.join('')).not.toContain('Spam')
})
