import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { LedgerCheck, LedgerProblem } from '../../../core/ledger/ledger-check'

const MAX_PROBLEMS = 100

/** Compares what the tables say twice: balances and entries, calls and charges. Reads everything once. */
export function libsqlLedgerCheck(db: LibSQLDatabase, applied: () => Promise<void>): LedgerCheck {
  const part = (name: 'credit' | 'paid' | 'debt') => {
    const sign = name === 'debt' ? -1 : 1
    const place = sql`a.id || ${`/${name}`}`
    return sql`SELECT ${`the ${name} of an account is not the sum of its entries`} AS what, a.id AS subject,
      a.${sql.raw(name)} AS one, coalesce(e.total, 0) AS other FROM accounts a LEFT JOIN (
        SELECT a.id AS id, sum(${sign} * (iif(e.credit = ${place}, e.amount, 0) - iif(e.debit = ${place}, e.amount, 0))) AS total
        FROM entries e JOIN accounts a ON a.id = e.account_id GROUP BY a.id) e ON e.id = a.id
      WHERE one <> other LIMIT ${MAX_PROBLEMS}`
  }
  const charges = sql`SELECT 'a call was not charged what the log says' AS what, r.id AS subject, r.cost AS one, coalesce(c.total, 0) AS other
    FROM requests r LEFT JOIN (SELECT request_id, sum(iif(kind = 'charge', amount, -amount)) AS total FROM entries
      WHERE request_id IS NOT NULL AND kind IN ('charge', 'reversal') GROUP BY request_id) c ON c.request_id = r.id
    WHERE one <> other LIMIT ${MAX_PROBLEMS}`
  return async () => {
    await applied()
    const problems: LedgerProblem[] = []
    for (const query of [part('credit'), part('paid'), part('debt'), charges])
      problems.push(...(await db.all<LedgerProblem>(query)))
    return problems
  }
}
