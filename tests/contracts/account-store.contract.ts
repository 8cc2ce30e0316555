import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import type { Account } from '../../server/core/accounts/account'
import type { AccountStore } from '../../server/core/accounts/store'
import { accountId, audit, NOON } from '../support/ledger-parts'

export interface AccountsUnderTest {
  readonly store: AccountStore
  /** Opens the account in the ledger, without telling the store. */
  commit(account: Account): Promise<void>
  reopened(): Promise<AccountStore>
  close(): Promise<void>
}

/** The rules of every account store. */
export function accountStoreContract(name: string, open: () => Promise<AccountsUnderTest>): void {
  describe(`account store: ${name}`, () => {
    let parts: AccountsUnderTest
    beforeAll(async () => {
      parts = await open()
    })
    afterAll(() => parts.close())

    const draft = (): Account => {
      const id = accountId()
      const facts = {
        operator: false,
        support: false,
        suspension: null,
        closedAt: null,
        growthApproved: false,
        customLimits: null,
        maxKeys: null,
        createdAt: NOON,
      }
      return { id, userId: `user of ${id}`, ...facts }
    }
    async function opened(): Promise<Account> {
      const account = draft()
      await parts.commit(account)
      parts.store.opened(account)
      return account
    }

    test('finds an opened account by its id and by its owner', async () => {
      const account = await opened()
      expect(await parts.store.byId(account.id)).toEqual(account)
      expect(await parts.store.byUser(account.userId)).toEqual(account)
      expect(await parts.store.byId('acct_none')).toBeNull()
      expect([parts.store.known(account.id), parts.store.known('acct_none')]).toEqual([account, null])
      expect(await parts.store.byUser('nobody')).toBeNull()
      expect([parts.store.knownByUser(account.userId), parts.store.knownByUser('nobody')]).toEqual([account, null])
    })

    test('finds an account that was opened although the answer was lost', async () => {
      const account = draft()
      await parts.commit(account)
      expect(await parts.store.byUser(account.userId)).toEqual(account)
      expect(await parts.store.byId(account.id)).toEqual(account)
    })

    test('lists every account once, newest first, page by page', async () => {
      for (let i = 0; i < 5; i++) await opened()
      const listed: Account[] = []
      for (let page = await parts.store.list(2, null); page.length > 0; ) {
        listed.push(...page)
        page = await parts.store.list(2, page.at(-1)?.id ?? null)
      }
      const ids = listed.map((account) => account.id)
      expect(ids).toEqual([...ids].sort().reverse())
      expect(new Set(ids).size).toBe(await parts.store.count())
    })

    test('returns a role as soon as it is durable, like every other change', async () => {
      const account = await opened()
      const operator = { ...account, operator: true }
      expect(await parts.store.setRole(account, 'operator', audit())).toEqual(operator)
      expect(await parts.store.byUser(account.userId)).toEqual(operator)
      // Read before the role was given: it must not take the role away.
      await parts.store.update({ ...account, maxKeys: 7 }, audit())
      expect(await parts.store.byId(account.id)).toEqual({ ...operator, maxKeys: 7 })
      expect(await parts.store.setRole(account, 'support', audit())).toEqual({ ...account, support: true, maxKeys: 7 })
      expect(await parts.store.setRole(account, null, audit())).toEqual({ ...account, maxKeys: 7 })
    })

    test('returns a change as soon as it is durable, and with the role after a restart', async () => {
      const account = await parts.store.setRole(await opened(), 'operator', audit())
      const customLimits = { rpm: 7, tpm: 8, concurrency: 9 }
      const changed = { ...account, growthApproved: true, customLimits, maxKeys: 5000 }
      await parts.store.update(changed, audit())
      expect(parts.store.known(account.id)).toEqual(changed)
      expect(await parts.store.byId(account.id)).toEqual(changed)
      expect(await parts.store.byUser(account.userId)).toEqual(changed)
      expect(parts.store.knownByUser(account.userId)).toEqual(changed)
      const again = await parts.reopened()
      expect(await again.byId(account.id)).toEqual(changed)
      expect(await again.byUser(account.userId)).toEqual(changed)
    })
  })
}
