import { and, desc, eq, gte, inArray, lte, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { MINUTE_MS } from '../../../../core/clock'
import type { AccountId } from '../../../../core/ids'
import {
  type AccountAdjustment,
  type AccountStatements,
  type AccountTransaction,
  ADJUSTMENT_KINDS,
} from '../../../../core/ledger/account-statement'
import { type Money, micros, minus, plus } from '../../../../core/money'
import type { Page } from '../../../../core/page'
import { cursorOf, parseCursor } from '../driver/cursor'
import { accounts, auditLog } from '../schema/accounts'
import { entries } from '../schema/ledger'
import type { ReportTurns } from '../usage/report-turns'
import { dailyLines, statedEntries } from './daily-lines'

/** The audit entry of an adjustment is written with it, at about the same time. */
const AUDITED_WITHIN_MS = MINUTE_MS
const ADJUSTMENT_CURSOR = 'adjustment'

type EntryRow = typeof entries.$inferSelect

/** AccountStatements, computed from the ledger entries; nothing is stored twice. */
export class LibsqlAccountStatements implements AccountStatements {
  private readonly db: LibSQLDatabase
  private readonly turns: ReportTurns

  constructor(db: LibSQLDatabase, turns: ReportTurns) {
    this.db = db
    this.turns = turns
  }

  async transactions(
    account: AccountId,
    limit: number,
    cursor: string | null,
  ): Promise<Page<AccountTransaction> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^-?\d{1,15}$/)
    return cursor !== null && !after ? null : this.turns.of(account, () => this.page(account, limit, after))
  }

  private async page(
    account: AccountId,
    limit: number,
    after: ReturnType<typeof parseCursor>,
  ): Promise<Page<AccountTransaction>> {
    const page = this.entriesOf(account, statedEntries(account), after?.number ?? null, limit)
    const now = this.db
      .select({ posted: sql<number>`${accounts.credit} + ${accounts.paid} - ${accounts.debt}` })
      .from(accounts)
      .where(eq(accounts.id, account))
    const [rows, [balance]] = await this.db.batch([page, now])
    const transactions = transactionsOf(account, rows)
    let balanceAfter: Money = micros(after ? Number(after.text) : (balance?.posted ?? 0))
    const listed = transactions.slice(0, limit).map(({ id, at, kind, description, requestId, amount }) => {
      const row: AccountTransaction = { id, at, kind, description, requestId, amount, balanceAfter }
      balanceAfter = minus(balanceAfter, amount)
      return row
    })
    const next = transactions[limit]
    return { rows: listed, next: next ? cursorOf(next.seq, String(balanceAfter)) : null }
  }

  async adjustments(account: AccountId, limit: number, cursor: string | null): Promise<Page<AccountAdjustment> | null> {
    const after = cursor === null ? null : parseCursor(cursor, /^adjustment$/)
    if (cursor !== null && !after) return null
    const rows = await this.turns.of(account, async () =>
      this.entriesOf(account, inArray(entries.kind, ADJUSTMENT_KINDS), after?.number ?? null, limit),
    )
    const transactions = transactionsOf(account, rows)
    const listed = transactions.slice(0, limit)
    const actors = await this.actorsOf(account, listed)
    const next = transactions[limit]
    return {
      rows: listed.flatMap(({ seq: _seq, ...row }) => {
        const kind = ADJUSTMENT_KINDS.find((one) => one === row.kind)
        // As `grant:ticket-7`; that of a charge's refund has the call in it.
        const booked = row.reference?.replace(/^\w+:/, '') ?? null
        const actor = actors.get(actKey(`account.${row.kind}`, booked)) ?? null
        const reference = kind === 'grant' || kind === 'debit' ? booked : null
        return kind ? [{ ...row, kind, reference, actor }] : []
      }),
      next: next ? cursorOf(next.seq, ADJUSTMENT_CURSOR) : null,
    }
  }

  /** A transaction has at most two adjacent entries per account: one for each part of the balance. */
  private entriesOf(account: AccountId, which: SQL | undefined, from: number | null, limit: number) {
    return this.db
      .select()
      .from(entries)
      .where(and(eq(entries.accountId, account), which, from === null ? undefined : lte(entries.seq, from)))
      .orderBy(desc(entries.seq))
      .limit(2 * (limit + 1))
  }

  /** The authors of these adjustments, as in the audit log. */
  private async actorsOf(
    account: AccountId,
    listed: readonly { readonly at: number }[],
  ): Promise<ReadonlyMap<string, string>> {
    const times = listed.map(({ at }) => at)
    if (times.length === 0) return new Map()
    const acts = await this.db
      .select({ action: auditLog.action, actor: auditLog.actorId, detail: auditLog.detail })
      .from(auditLog)
      .where(
        and(
          eq(auditLog.accountId, account),
          inArray(
            auditLog.action,
            ADJUSTMENT_KINDS.map((kind) => `account.${kind}`),
          ),
          gte(auditLog.at, Math.min(...times) - AUDITED_WITHIN_MS),
          lte(auditLog.at, Math.max(...times) + AUDITED_WITHIN_MS),
        ),
      )
    return new Map(
      acts.map(({ action, actor, detail }) => [actKey(action, detail['request'] ?? detail['reference']), actor]),
    )
  }

  daily(account: AccountId, timezone: string, limit: number, cursor: string | null) {
    return this.turns.of(account, () => dailyLines(this.db, { account, timezone }, limit, cursor))
  }
}

function actKey(action: string, reference: unknown): string {
  return `${action} ${reference}`
}

type Transaction = Omit<AccountTransaction, 'balanceAfter'> & {
  readonly reference: string | null
  readonly seq: number
}

/** Puts the entries of one transaction together. */
function transactionsOf(account: AccountId, rows: readonly EntryRow[]): readonly Transaction[] {
  const transactions: Transaction[] = []
  for (const { transactionId: id, at, kind, description, requestId, reference, seq, ...row } of rows) {
    const own = (side: string) => (side.startsWith(`${account}/`) ? row.amount : 0)
    const amount = micros(own(row.credit) - own(row.debit))
    const last = transactions.at(-1)
    if (last?.id === id)
      transactions[transactions.length - 1] = {
        ...last,
        amount: plus(last.amount, amount),
        reference: last.reference ?? reference,
      }
    else transactions.push({ id, at, kind, description, requestId, reference, amount, seq })
  }
  return transactions
}
