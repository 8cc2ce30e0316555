import { asc, eq, isNull, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { PaymentId } from '../../../../core/ids'
import type { UnknownCheckout, UnknownCheckoutStore } from '../../../../core/payments/card-checkout'
import { unknownCheckouts } from '../schema/operator-money'

const MAX_LISTED = 1000

export class LibsqlUnknownCheckouts implements UnknownCheckoutStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async keep(page: string, payment: PaymentId, now: number): Promise<boolean> {
    const [row] = await this.db
      .insert(unknownCheckouts)
      .values({ page, payment, firstAt: now, lastAt: now })
      .onConflictDoUpdate({
        target: unknownCheckouts.page,
        set: { messages: sql`${unknownCheckouts.messages} + 1`, lastAt: now, payment },
      })
      .returning({ messages: unknownCheckouts.messages })
    return row?.messages === 1
  }

  unresolved(): Promise<readonly UnknownCheckout[]> {
    const { page, payment, messages, firstAt, lastAt, resolvedAt } = unknownCheckouts
    return this.db
      .select({ page, payment, messages, firstAt, lastAt })
      .from(unknownCheckouts)
      .where(isNull(resolvedAt))
      .orderBy(asc(firstAt))
      .limit(MAX_LISTED)
  }

  async resolve(page: string, now: number): Promise<void> {
    await this.db.update(unknownCheckouts).set({ resolvedAt: now }).where(eq(unknownCheckouts.page, page))
  }
}
