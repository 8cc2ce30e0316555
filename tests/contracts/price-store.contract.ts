import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { IMAGE_SEARCH } from '../../server/core/catalog/image-search'
import { CATALOG_VERSION } from '../../server/core/catalog/operation'
import { currentPrice, type PriceOverride, type PriceStore } from '../../server/core/catalog/prices'
import { type AccountId, makeId } from '../../server/core/ids'
import { micros } from '../../server/core/money'
import { accountId, audit, NOON } from '../support/ledger-parts'

export interface PricesUnderTest {
  readonly store: PriceStore
  reopened(): Promise<PriceStore>
  close(): Promise<void>
}

/** The rules of every price store. Its tests follow each other: a price is never forgotten. */
export function priceStoreContract(name: string, open: () => Promise<PricesUnderTest>): void {
  describe(`price store: ${name}`, () => {
    let parts: PricesUnderTest
    let store: PriceStore
    beforeAll(async () => {
      parts = await open()
      store = parts.store
    })
    afterAll(() => parts.close())

    const mine = accountId()
    async function set(amount: number | null, account: AccountId | null): Promise<PriceOverride> {
      const override: PriceOverride = {
        id: makeId('price', NOON),
        operation: 'image-search',
        accountId: account,
        amount: amount === null ? null : micros(amount),
        at: NOON,
      }
      await store.add(override, audit())
      return override
    }
    const price = (account: AccountId | null) => currentPrice(store, 'image-search', account)

    test("without an override the price is the catalog's", () => {
      const catalog = { amount: IMAGE_SEARCH.price, version: CATALOG_VERSION }
      expect(price(null)).toEqual(catalog)
      expect(price(mine)).toEqual(catalog)
    })

    test("an operator's price applies to everybody's next call", async () => {
      const { id } = await set(7000, null)
      expect(price(null)).toEqual({ amount: micros(7000), version: id })
      expect(price(mine)).toEqual({ amount: micros(7000), version: id })
    })

    test('of one account applies only to that account, zero included', async () => {
      const { id } = await set(0, mine)
      expect(price(mine)).toEqual({ amount: micros(0), version: id })
      expect(price(accountId()).amount).toBe(micros(7000))
    })

    test('the newest applies, also of those set in one millisecond', async () => {
      await set(1, mine)
      const { id } = await set(2, mine)
      expect(price(mine)).toEqual({ amount: micros(2), version: id })
    })

    test('another operation is not affected', () => {
      expect(store.newest('llm-context', null)).toBeNull()
    })

    test('after a restart the same price applies', async () => {
      const before = price(mine)
      store = await parts.reopened()
      expect(price(mine)).toEqual(before)
      expect(price(null).amount).toBe(micros(7000))
      expect(store.all()).toHaveLength(2)
    })

    test("when removed, the account pays everybody's price again, and then the catalog's", async () => {
      await set(null, mine)
      expect(price(mine).amount).toBe(micros(7000))
      await set(null, null)
      expect(price(mine)).toEqual({ amount: IMAGE_SEARCH.price, version: CATALOG_VERSION })
    })
  })
}
