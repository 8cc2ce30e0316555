import { and, asc, eq, gt, inArray, isNotNull, isNull, like, lt, lte, not, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountDirectory } from '../../../../core/accounts/directory'
import type { SpendSummaryStore, SummaryReader } from '../../../../core/accounts/mails/spend-summaries'
import type { AuditEntry } from '../../../../core/audit'
import type { AccountId } from '../../../../core/ids'
import type { GatewayEvent } from '../../../../core/webhooks/event'
import {
  MAILED_BY_DEFAULT,
  type MailChoice,
  type MailReader,
  type NoticeMailStore,
} from '../../../../core/webhooks/notice-mails'
import { auditRow } from '../audit/audit-trail'
import { accountSettings, accounts, auditLog } from '../schema/accounts'
import { events, noticeMails } from '../schema/events'
import { identityUser } from '../schema/identity'

const SEQS_AT_ONCE = 500
/** A closed account has no address. */
const HAS_ADDRESS = not(like(identityUser.email, '%.invalid'))

/** Owners' choices of mails, and the mailed events. */
export class LibsqlNoticeMails implements NoticeMailStore, SpendSummaryStore {
  private readonly db: LibSQLDatabase
  private readonly directory: Pick<AccountDirectory, 'withRole'>

  constructor(db: LibSQLDatabase, directory: Pick<AccountDirectory, 'withRole'>) {
    this.db = db
    this.directory = directory
  }

  async choiceOf(account: AccountId): Promise<MailChoice> {
    const [row] = await this.db.select().from(noticeMails).where(eq(noticeMails.accountId, account))
    return { kinds: row?.kinds ?? MAILED_BY_DEFAULT, weeklySummary: row?.weeklySummary ?? false }
  }

  async choose(account: AccountId, { kinds, weeklySummary }: Partial<MailChoice>, audit: AuditEntry): Promise<void> {
    const chosen = {
      ...(kinds && { kinds }),
      ...(weeklySummary !== undefined && { weeklySummary }),
      // Summaries that were off begin anew.
      ...(weeklySummary === false && { summarizedUntil: null }),
    }
    await this.db.batch([
      this.db
        .insert(noticeMails)
        .values({ accountId: account, ...chosen })
        .onConflictDoUpdate({ target: noticeMails.accountId, set: { accountId: account, ...chosen } }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
  }

  async unmailed(from: number, mailedSince: number, limit: number): Promise<readonly GatewayEvent[]> {
    const isRested = or(isNull(noticeMails.mailedAt), lte(noticeMails.mailedAt, mailedSince))
    const seen = this.db
      .select({ seq: sql`min(coalesce(${noticeMails.mailedSeq}, 0))` })
      .from(accounts)
      .leftJoin(noticeMails, eq(noticeMails.accountId, accounts.id))
      .where(and(inArray(accounts.id, [...this.directory.withRole('operator')]), isRested))
    const isWaiting = and(eq(events.mailed, false), eq(events.dispatched, true), gt(events.at, from))
    const ofAccounts = await this.db
      .select({ event: events })
      .from(events)
      .leftJoin(noticeMails, eq(noticeMails.accountId, events.accountId))
      .where(and(isWaiting, isNotNull(events.accountId), isRested))
      .orderBy(asc(events.seq))
      .limit(limit)
    const ofGateway = await this.db
      .select({ event: events })
      .from(events)
      .where(and(isWaiting, isNull(events.accountId), gt(events.seq, seen)))
      .orderBy(asc(events.seq))
      .limit(limit)
    const rows = [...ofAccounts, ...ofGateway].toSorted((a, b) => a.event.seq - b.event.seq)
    return rows.map(({ event: { dispatched: _, mailed: __, ...event } }) => event)
  }

  async readers(of: readonly AccountId[]): Promise<readonly MailReader[]> {
    const operators = new Set(this.directory.withRole('operator'))
    const rows = await this.db
      .select({
        accountId: accounts.id,
        email: identityUser.email,
        kinds: noticeMails.kinds,
        mailedAt: noticeMails.mailedAt,
        mailedSeq: sql<number>`coalesce(${noticeMails.mailedSeq}, 0)`,
      })
      .from(accounts)
      .innerJoin(identityUser, eq(identityUser.id, accounts.userId))
      .leftJoin(noticeMails, eq(noticeMails.accountId, accounts.id))
      .where(and(inArray(accounts.id, [...new Set([...of, ...operators])]), HAS_ADDRESS))
    return rows.map(({ kinds, ...reader }) => ({
      ...reader,
      operator: operators.has(reader.accountId),
      kinds: kinds ?? MAILED_BY_DEFAULT,
    }))
  }

  async begin(account: AccountId, at: number): Promise<void> {
    await this.db
      .insert(noticeMails)
      .values({ accountId: account, mailedAt: at })
      .onConflictDoUpdate({ target: noticeMails.accountId, set: { mailedAt: at } })
  }

  async sent(account: AccountId, seq: number): Promise<void> {
    await this.db.update(noticeMails).set({ mailedSeq: seq }).where(eq(noticeMails.accountId, account))
  }

  async finish(mailed: readonly GatewayEvent[], until: number): Promise<void> {
    await this.db
      .update(events)
      .set({ mailed: true })
      .where(and(eq(events.mailed, false), lt(events.at, until)))
    for (let i = 0; i < mailed.length; i += SEQS_AT_ONCE) {
      const seqs = mailed.slice(i, i + SEQS_AT_ONCE).map(({ seq }) => seq)
      await this.db.update(events).set({ mailed: true }).where(inArray(events.seq, seqs))
    }
  }

  summaryReaders(): Promise<readonly SummaryReader[]> {
    return this.db
      .select({
        accountId: accounts.id,
        email: identityUser.email,
        timezone: accountSettings.timezone,
        summarizedUntil: noticeMails.summarizedUntil,
      })
      .from(noticeMails)
      .innerJoin(accounts, eq(accounts.id, noticeMails.accountId))
      .innerJoin(identityUser, eq(identityUser.id, accounts.userId))
      .leftJoin(accountSettings, eq(accountSettings.accountId, noticeMails.accountId))
      .where(and(eq(noticeMails.weeklySummary, true), HAS_ADDRESS))
  }

  async moveSummaryMark(account: AccountId, from: number | null, to: number | null): Promise<boolean> {
    const { accountId, weeklySummary, summarizedUntil } = noticeMails
    const isMarked = from === null ? isNull(summarizedUntil) : eq(summarizedUntil, from)
    const moved = await this.db
      .update(noticeMails)
      .set({ summarizedUntil: to })
      .where(and(eq(accountId, account), eq(weeklySummary, true), isMarked))
      .returning({ accountId })
    return moved.length > 0
  }
}
