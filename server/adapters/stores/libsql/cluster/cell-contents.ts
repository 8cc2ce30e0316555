import { and, desc, gt, isNotNull, lt, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { PAYMENT_KEPT_MS } from '../../../../core/cluster/cells'
import type { Contents, Told } from '../../../../core/cluster/tell-directory'
import { type AccountId, idStart, type PaymentId } from '../../../../core/ids'
import { accounts } from '../schema/accounts'
import { keys } from '../schema/keys'
import { entries } from '../schema/ledger'
import { payments } from '../schema/payments'

interface At extends Told {
  readonly at: number
}

/** Rows in the order in which they were committed, which no clock decides. */
const ROW = sql<number>`rowid`
const FOR_GOOD = sql<null>`NULL`

/** What the directory must have of a cell: keys that are not revoked, payments that somebody could present, references, and accounts. */
export function cellContents(db: LibSQLDatabase, now: () => number) {
  const allKeys: Contents<At> = {
    async newest(before, limit) {
      const rows = await db
        .select({ name: keys.hash, shown: keys.id, revokedAt: keys.revokedAt, at: ROW })
        .from(keys)
        .where(before ? lt(ROW, before.at) : undefined)
        .orderBy(desc(ROW))
        .limit(limit)
      return rows.map(({ revokedAt, ...key }) => ({ ...key, keepUntil: null, leadsNowhere: revokedAt !== null }))
    },
  }
  const recent: Contents<Told & { readonly shown: PaymentId }> = {
    newest: (before, limit) => {
      const at = now()
      const start = idStart('pay', at - PAYMENT_KEPT_MS) as PaymentId
      return db
        .select({ name: payments.key, shown: payments.id, keepUntil: sql<number>`${at + PAYMENT_KEPT_MS}` })
        .from(payments)
        .where(and(gt(payments.id, start), before ? lt(payments.id, before.shown) : undefined))
        .orderBy(desc(payments.id))
        .limit(limit)
    },
  }
  const references: Contents<At> = {
    async newest(before, limit) {
      const { reference, seq } = entries
      // `;` sorts after `:`.
      const isOfOperators = sql`(reference > 'debit:' AND reference < 'debit;') OR (reference > 'grant:' AND reference < 'grant;')`
      const rows = await db
        .select({ reference, at: seq })
        .from(entries)
        // The plus keeps the order of commits from deciding the plan, which would read every charge.
        .where(and(isNotNull(reference), or(isOfOperators), before ? sql`+${seq} < ${before.at}` : undefined))
        .orderBy(desc(sql`+${seq}`))
        .limit(limit)
      return rows.flatMap(({ reference: name, at }) =>
        name === null ? [] : { name, shown: name, keepUntil: null, at },
      )
    },
  }
  const opened: Contents<At & { readonly name: AccountId; readonly userId: string; readonly createdAt: number }> = {
    newest: (before, limit) =>
      db
        .select({
          ...{ name: accounts.id, shown: accounts.id, keepUntil: FOR_GOOD, at: ROW },
          ...{ userId: accounts.userId, createdAt: accounts.createdAt },
        })
        .from(accounts)
        .where(before ? lt(ROW, before.at) : undefined)
        .orderBy(desc(ROW))
        .limit(limit),
  }
  return { keys: allKeys, payments: recent, references, accounts: opened }
}

export type CellContents = ReturnType<typeof cellContents>
