import { afterEach, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { closeReconciled } from '../../http/owner-bench'
import { openHarness } from '../../support/harness'
import { accountId, audit, NOON, openTestStores } from '../../support/ledger-parts'

const HERE = { address: '127.0.0.1', isFromThisMachine: true }

let closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0)) await close()
  closers = []
})

async function folder(): Promise<string> {
  const made = await mkdtemp(join(tmpdir(), 'gateway-directory-'))
  closers.push(() => rm(made, { recursive: true, force: true }))
  return made
}

test('a user has one account, however often it is opened, and only the first of all may be operator', async () => {
  const stores = await openTestStores()
  const place = (userId: string) =>
    stores.directory.assign({ accountId: accountId(), userId, mayBeOperator: true, createdAt: NOON })
  const [first, ...others] = await Promise.all(['a', 'a', 'b', 'c', 'a'].map(place))
  expect(others.map(({ accountId: id }) => id === first?.accountId)).toEqual([true, false, false, true])
  expect([first, ...others].map((one) => one?.role)).toEqual(['operator', 'operator', null, null, 'operator'])
  expect(stores.directory.withRole('operator')).toEqual([first?.accountId ?? 'acct_none'])
  await stores.close()
})

test('an account whose commit failed is opened after a restart under the same id, with its role and one credit', async () => {
  const data = await folder()
  const before = await openHarness({ folder: data })
  await before.core.stores.db.run(
    "CREATE TRIGGER no_accounts BEFORE INSERT ON accounts BEGIN SELECT RAISE(ABORT, 'no'); END",
  )
  expect(await before.core.signUp.openAccount('ada', HERE)).toBeNull()
  const [reserved = 'acct_none'] = before.core.stores.directory.withRole('operator')
  expect(await before.core.accounts.count()).toBe(0)
  await before.core.stores.db.run('DROP TRIGGER no_accounts')
  await before.close(true)
  const after = await openHarness({ folder: data })
  const [ada, again, bob] = await Promise.all(
    ['ada', 'ada', 'bob'].map((user) => after.core.signUp.openAccount(user, HERE)),
  )
  expect(ada).toMatchObject({ id: reserved, operator: true })
  expect(again).toEqual(ada ?? null)
  expect(bob).toMatchObject({ operator: false })
  expect(Number((await after.core.ledger.balance(reserved))?.posted)).toBe(2_000_000)
  await closeReconciled(after)
})

test('a role outlives a restart, and one that was taken does not come back', async () => {
  const data = await folder()
  const stores = await openTestStores({ folder: data })
  const ids = [accountId(), accountId()] as const
  for (const [i, id] of ids.entries())
    await stores.directory.assign({ accountId: id, userId: `user ${i}`, mayBeOperator: true, createdAt: NOON })
  await stores.directory.setRole(ids[1], 'support', audit())
  await stores.directory.setRole(ids[0], null, audit())
  await stores.close()
  const again = await openTestStores({ folder: data })
  expect(ids.map((id) => again.directory.roleOf(id))).toEqual([null, 'support'])
  expect(
    await again.audit.find(
      { accountId: null, keyId: null, actorKind: null, action: 'test', from: null, to: null },
      9,
      null,
    ),
  ).toMatchObject({ rows: { length: 2 } })
  await again.close()
})
