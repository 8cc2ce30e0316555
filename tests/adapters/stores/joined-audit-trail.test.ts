import { expect, test } from 'bun:test'
import { JoinedAuditTrail } from '../../../server/adapters/stores/libsql/audit/joined-audit-trail'
import { type AuditEntry, type AuditFilter, auditEntry } from '../../../server/core/audit'
import { pagedRows } from '../../../server/core/page'
import { audit, NOON, openTestStores } from '../../support/ledger-parts'

const ALL: AuditFilter = { accountId: null, keyId: null, actorKind: null, action: null, from: null, to: null }

test('two audit logs are read as one, newest first, whatever is in which and how long the pages are', async () => {
  const [control, cell] = [await openTestStores(), await openTestStores()]
  const joined = new JoinedAuditTrail(control.audit, cell.audit)
  const written: AuditEntry[] = []
  // Runs in one log, alternation, and entries that a filter leaves out.
  for (const [i, isControl] of [1, 0, 0, 0, 1, 1, 0, 1, 0, 0, 1, 1, 1, 0].entries()) {
    const entry = { ...audit(i % 3 === 0 ? 'left.out' : 'kept'), accountId: isControl ? null : ('acct_1' as const) }
    await joined.write(entry)
    written.unshift(entry)
  }
  expect((await control.audit.find(ALL, 99, null))?.rows).toHaveLength(7)
  for (const limit of [1, 2, 3, 5, 14, 20])
    for (const action of [null, 'kept']) {
      const read: AuditEntry[] = []
      for await (const entry of pagedRows((cursor) => joined.find({ ...ALL, action }, limit, cursor))) read.push(entry)
      expect(read).toEqual(written.filter((entry) => action === null || entry.action === action))
    }
  expect(await joined.find(ALL, 5, 'no cursor')).toBeNull()
  await Promise.all([control.close(), cell.close()])
})

test('what concerns an account is in the log of its cell, and what concerns none in that of the control database', async () => {
  const [control, cell] = [await openTestStores(), await openTestStores()]
  const joined = new JoinedAuditTrail(control.audit, cell.audit)
  const actor = { kind: 'owner', id: 'u', address: null } as const
  await joined.write(auditEntry({ at: NOON, actor, action: 'account.new_browser', accountId: 'acct_1' }))
  await joined.write(auditEntry({ at: NOON, actor, action: 'books.export' }))
  const actions = async (of: typeof control) => (await of.audit.find(ALL, 9, null))?.rows.map(({ action }) => action)
  expect([await actions(control), await actions(cell)]).toEqual([['books.export'], ['account.new_browser']])
  await Promise.all([control.close(), cell.close()])
})
