import { and, count, eq, gt, lt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { UpstreamPayment, UpstreamPayments, WalletTerms } from '../../../core/apis/upstream-payment'
import type { RequestId } from '../../../core/ids'
import { KeyedMutex } from '../../../core/keyed-mutex'
import { upstreamPayments as table } from './schema/upstream-payments'

const DAY_MS = 86_400_000
const ROWS_AT_ONCE = 100

/** This process owns the database, so that a sum and the row that it allows are written in one turn. */
export class LibsqlUpstreamPayments implements UpstreamPayments {
  private readonly db: LibSQLDatabase
  private readonly turns = new KeyedMutex()

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  open(payment: UpstreamPayment, terms: WalletTerms): Promise<'opened' | 'cap' | 'twice'> {
    return this.turns.take('open', async () => {
      const { request, payee, cost, signedAt, amount } = payment
      const [known] = await this.db.select({ request: table.request }).from(table).where(eq(table.request, request))
      if (known) return 'twice'
      // What may still be cashed counts, however old it is.
      const counts = sql`(${table.state} = 'signed' OR (${table.state} <> 'unused' AND ${table.signedAt} > ${signedAt - DAY_MS}))`
      const [sums] = await this.db
        .select({
          all: sql<number>`coalesce(sum(${table.cost}), 0)`,
          payee: sql<number>`coalesce(sum(CASE WHEN ${table.payee} = ${payee} THEN ${table.cost} ELSE 0 END), 0)`,
        })
        .from(table)
        .where(counts)
      if (!sums || sums.all + cost > terms.dailyMaximum || sums.payee + cost > terms.dailyMaximumPerPayee) return 'cap'
      await this.db.insert(table).values({ ...payment, amount: String(amount), state: 'signed', endedAt: null })
      return 'opened'
    })
  }

  async answered(request: RequestId): Promise<void> {
    await this.db
      .update(table)
      .set({ state: 'answered' })
      .where(and(eq(table.request, request), eq(table.state, 'signed')))
  }

  async expired(
    before: number,
    { terms, address }: Parameters<UpstreamPayments['expired']>[1],
  ): Promise<readonly UpstreamPayment[]> {
    const rows = await this.db
      .select()
      .from(table)
      .where(
        and(
          eq(table.state, 'signed'),
          lt(table.validBefore, Math.floor(before / 1000)),
          eq(table.chainId, terms.chainId),
          eq(table.token, terms.token),
          eq(table.payer, address),
        ),
      )
      .orderBy(table.validBefore)
      .limit(ROWS_AT_ONCE)
    return rows.map(({ state: _, endedAt: __, ...row }) => ({ ...row, amount: BigInt(row.amount) }))
  }

  async end(request: RequestId, state: 'cashed' | 'unused', at: number): Promise<void> {
    await this.db
      .update(table)
      .set({ state, endedAt: at })
      .where(and(eq(table.request, request), eq(table.state, 'signed')))
  }

  async lost(api: string, since: number): Promise<number> {
    const [row] = await this.db
      .select({ lost: count() })
      .from(table)
      .where(and(eq(table.api, api), eq(table.state, 'cashed'), gt(table.endedAt, since)))
    return row?.lost ?? 0
  }
}
