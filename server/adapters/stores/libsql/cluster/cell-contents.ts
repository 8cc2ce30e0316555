import { and, desc, gt, gte, isNotNull, isNull, lt, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { PAYMENT_KEPT_MS } from '../../../../core/cluster/cells'
import type { Contents, DirectoryRecord } from '../../../../core/cluster/sync-directory'
import { type AccountId, idStart, type PaymentId } from '../../../../core/ids'
import { accounts } from '../schema/accounts'
import { keys } from '../schema/keys'
import { entries } from '../schema/ledger'
import { payments } from '../schema/payments'

interface At extends DirectoryRecord {
  readonly at: number
}

/** Rows in the order of their commits, independent of clocks. */
const ROW = sql<number>`rowid`
const FOR_GOOD = sql<null>`NULL`
/** How many keys one statement reads, most of which may be revoked. */
const KEYS_AT_ONCE = 50_000

/** The records of a cell that must be in the directory: keys that are not revoked, payments that could still be presented, references and accounts. */
export function cellContents(db: LibSQLDatabase, now: () => number) {
  const liveKeys: Contents<At> = {
    async newest(before, limit) {
      let end = before?.at ?? (await afterAllKeys())
      for (; end > 0; end -= KEYS_AT_ONCE) {
        const live = await db
          .select({ name: keys.hash, shown: keys.id, keepUntil: FOR_GOOD, at: ROW })
          .from(keys)
          .where(and(isNull(keys.revokedAt), lt(ROW, end), gte(ROW, end - KEYS_AT_ONCE)))
          .orderBy(desc(ROW))
          .limit(limit)
        if (live.length > 0) return live
      }
      return []
    },
  }
  const afterAllKeys = async () => {
    const [last] = await db.select({ at: ROW }).from(keys).orderBy(desc(ROW)).limit(1)
    return (last?.at ?? 0) + 1
  }
  const recent: Contents<DirectoryRecord & { readonly shown: PaymentId }> = {
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
        // With the plus, SQLite does not plan the query by the order of commits, which would read every charge.
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
  return { keys: liveKeys, payments: recent, references, accounts: opened }
}

export type CellContents = ReturnType<typeof cellContents>
