import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { prices } from '../../server/adapters/stores/libsql/schema/accounts'
import { usageRollup } from '../../server/adapters/stores/libsql/schema/usage'
import { micros } from '../../server/core/money'
import { openTestStores, type TestStores } from '../support/ledger-parts'

let stores: TestStores
beforeAll(async () => {
  stores = await openTestStores()
})
afterAll(() => stores.close())

const price = (id: `price_${string}`, amount: number | null) =>
  ({
    id,
    operation: 'image-search',
    accountId: null,
    amount: amount === null ? null : micros(amount),
    basisPoints: null,
    at: 5,
  }) as const

describe('drizzle over our client of two workers', () => {
  test('gives the inserted rows back, typed', async () => {
    const [row] = await stores.db.insert(prices).values(price('price_1', 7)).returning()
    expect(row).toEqual(price('price_1', 7))
  })

  test('sees its own writes at once: the reader reads what the writer acknowledged', async () => {
    for (let i = 0; i < 50; i++) {
      await stores.db.insert(prices).values(price(`price_seen${i}`, i))
      expect(
        await stores.db
          .select()
          .from(prices)
          .where(eq(prices.id, `price_seen${i}`)),
      ).toHaveLength(1)
    }
  })

  test('gives each statement of a batch its own rows, in order', async () => {
    const [made, found, counted] = await stores.db.batch([
      stores.db.insert(prices).values(price('price_2', null)).returning({ id: prices.id }),
      stores.db.select().from(prices).where(eq(prices.id, 'price_2')),
      stores.db.select({ n: sql<number>`count(*)` }).from(prices).where(eq(prices.id, 'price_2')),
    ])
    expect(made).toEqual([{ id: 'price_2' }])
    expect(found).toEqual([price('price_2', null)])
    expect(counted).toEqual([{ n: 1 }])
  })

  test('writes all of a batch or nothing', async () => {
    const twice = stores.db.batch([
      stores.db.insert(prices).values(price('price_3', 1)),
      stores.db.insert(prices).values(price('price_3', 2)),
    ])
    expect(
      await twice.then(
        () => 'written',
        () => 'refused',
      ),
    ).toBe('refused')
    expect(await stores.db.select().from(prices).where(eq(prices.id, 'price_3'))).toEqual([])
  })

  test('keeps columns of one name apart in a join', async () => {
    const other = sql`(SELECT 'price_1' AS id, 'theirs' AS operation)`
    const [row] = await stores.db
      .select({ mine: prices.operation, theirs: sql<string>`o.operation` })
      .from(prices)
      .innerJoin(sql`${other} AS o`, sql`o.id = ${prices.id}`)
    expect(row).toEqual({ mine: 'image-search', theirs: 'theirs' })
  })

  test('refuses an interactive transaction', async () => {
    await expect(stores.db.transaction(async () => undefined)).rejects.toThrow()
  })
})

describe('libSQL', () => {
  const failureOf = async (text: string): Promise<string> => {
    try {
      return JSON.stringify(await stores.db.all(sql.raw(text)))
    } catch (error) {
      return String(error instanceof Error ? error.cause : error)
    }
  }

  test('throws on reading an integer above 2^53 instead of rounding it', async () => {
    expect(await stores.db.all(sql`SELECT ${Number.MAX_SAFE_INTEGER} AS n`)).toEqual([{ n: Number.MAX_SAFE_INTEGER }])
    expect(await failureOf('SELECT 9007199254740993 AS n')).toContain('too large for a number')
  })

  test('goes on after a statement that failed', async () => {
    expect(await failureOf('SELECT missing FROM prices')).toContain('no such column')
    expect(await stores.db.select().from(usageRollup)).toEqual([])
  })
})
