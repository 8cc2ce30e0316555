import { and, desc, eq, lte, ne, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountId } from '../../../../core/ids'
import type { AccountStatements, AccountTransaction } from '../../../../core/ledger/account-statement'
import { type Money, micros, minus, plus } from '../../../../core/money'
import type { Page } from '../../../../core/page'
import { cursorOf, parseCursor } from '../driver/cursor'
import { accounts } from '../schema/accounts'
import { entries } from '../schema/ledger'

/** AccountStatements, computed from the ledger entries; nothing is stored twice. */
export class LibsqlAccountStatements implements AccountStatements {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  async transactions(
    account: AccountId,
    limit: number,
    cursor: string | null,
  ): Promise<Page<AccountTransaction> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^-?\d{1,15}$/)
    if (cursor !== null && !after) return null
    await this.applied()
    // A transaction has at most two adjacent entries per account: one for each part of the balance.
    const page = this.db
      .select()
      .from(entries)
      .where(
        and(
          eq(entries.accountId, account),
          ne(entries.kind, 'overrun'),
          after ? lte(entries.seq, after.number) : undefined,
        ),
      )
      .orderBy(desc(entries.seq))
      .limit(2 * (limit + 1))
    const now = this.db
      .select({ posted: sql<number>`${accounts.credit} + ${accounts.paid} - ${accounts.debt}` })
      .from(accounts)
      .where(eq(accounts.id, account))
    const [rows, [balance]] = await this.db.batch([page, now])
    const transactions: (Omit<AccountTransaction, 'balanceAfter'> & { seq: number })[] = []
    for (const row of rows) {
      const own = (side: string) => (side.startsWith(`${account}/`) ? row.amount : 0)
      const amount = micros(own(row.credit) - own(row.debit))
      const last = transactions.at(-1)
      if (last && last.id === row.transactionId)
        transactions[transactions.length - 1] = { ...last, amount: plus(last.amount, amount) }
      else
        transactions.push({
          id: row.transactionId,
          at: row.at,
          kind: row.kind,
          description: row.description,
          requestId: row.requestId,
          amount,
          seq: row.seq,
        })
    }
    let balanceAfter: Money = micros(after ? Number(after.text) : (balance?.posted ?? 0))
    const listed = transactions.slice(0, limit).map(({ seq: _seq, ...transaction }): AccountTransaction => {
      const row = { ...transaction, balanceAfter }
      balanceAfter = minus(balanceAfter, transaction.amount)
      return row
    })
    const next = transactions[limit]
    return { rows: listed, next: next ? cursorOf(next.seq, String(balanceAfter)) : null }
  }
}
