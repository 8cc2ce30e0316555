import { type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { LedgerCheck, LedgerProblem } from '../../../../core/ledger/ledger-check'

const MAX_PROBLEMS = 100
/** Accounts per statement, so that a check of many leaves room for others. */
const ACCOUNTS = 50

/** Compares what the tables say twice: balances and entries, calls and charges. Each statement reads some accounts as of one moment. */
export function libsqlLedgerCheck(db: LibSQLDatabase, applied: () => Promise<void>): LedgerCheck {
  return async () => {
    await applied()
    const problems: LedgerProblem[] = []
    for (let after = ''; problems.length < MAX_PROBLEMS; ) {
      const [end] = await db.all<{ last: string | null }>(
        sql`SELECT max(id) AS last FROM (SELECT id FROM accounts WHERE id > ${after} ORDER BY id LIMIT ${ACCOUNTS})`,
      )
      const last = end?.last ?? null
      if (last === null) break
      const isIn = (account: SQL) => sql`${account} > ${after} AND ${account} <= ${last}`
      for (const query of [part('credit', isIn), part('paid', isIn), part('debt', isIn), charges(isIn)])
        problems.push(...(await db.all<LedgerProblem>(query)))
      after = last
    }
    return problems.slice(0, MAX_PROBLEMS)
  }
}

function part(name: 'credit' | 'paid' | 'debt', isIn: (account: SQL) => SQL): SQL {
  const sign = name === 'debt' ? -1 : 1
  const pool = sql`a.id || ${`/${name}`}`
  return sql`SELECT ${`the ${name} of an account is not the sum of its entries`} AS what, a.id AS subject,
      a.${sql.raw(name)} AS one, coalesce(e.total, 0) AS other FROM accounts a LEFT JOIN (
        SELECT a.id AS id, sum(${sign} * (iif(e.credit = ${pool}, e.amount, 0) - iif(e.debit = ${pool}, e.amount, 0))) AS total
        FROM entries e JOIN accounts a ON a.id = e.account_id WHERE ${isIn(sql`e.account_id`)} GROUP BY a.id) e ON e.id = a.id
      WHERE ${isIn(sql`a.id`)} AND one <> other LIMIT ${MAX_PROBLEMS}`
}

function charges(isIn: (account: SQL) => SQL): SQL {
  return sql`SELECT 'a call was not charged what the log says' AS what, r.id AS subject, r.cost AS one, coalesce(c.total, 0) AS other
    FROM requests r LEFT JOIN (SELECT request_id, sum(iif(kind = 'charge', amount, -amount)) AS total FROM entries
      WHERE ${isIn(sql`account_id`)} AND request_id IS NOT NULL AND kind IN ('charge', 'reversal') GROUP BY request_id) c
      ON c.request_id = r.id
    WHERE ${isIn(sql`r.account_id`)} AND one <> other LIMIT ${MAX_PROBLEMS}`
}
