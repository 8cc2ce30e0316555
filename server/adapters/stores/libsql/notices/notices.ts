import { and, count, desc, eq, gt, inArray, isNull, lt, max, or, type SQL } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { WebhookId } from '../../../../core/ids'
import type { SealedText, SealedTexts } from '../../../../core/secrets/resealing'
import type { Notice, NoticeReader, NoticeStore } from '../../../../core/webhooks/notices'
import { webhookContext } from '../../../../core/webhooks/webhooks'
import { events, noticeReads, webhooks } from '../schema/events'
import { ofKeys } from '../usage/of-keys'

/** Notices are dispatched events, and one number per account: how far it has read. */
export class LibsqlNotices implements NoticeStore {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async notices(reader: NoticeReader, limit: number, after: string | null): Promise<readonly Notice[] | null> {
    const before = after === null ? null : await this.seqOf(reader, after)
    if (after !== null && before === null) return null
    const read = await this.readTo(reader)
    const rows = await this.db
      .select()
      .from(events)
      .where(and(shownTo(reader), before === null ? undefined : lt(events.seq, before)))
      .orderBy(desc(events.seq))
      .limit(limit)
    return rows.map(({ dispatched: _, mailed: __, ...event }) => ({ ...event, isRead: event.seq <= read }))
  }

  async unread(reader: NoticeReader): Promise<number> {
    const [row] = await this.db
      .select({ unread: count() })
      .from(events)
      .where(and(shownTo(reader), gt(events.seq, await this.readTo(reader))))
    return row?.unread ?? 0
  }

  async markRead(reader: NoticeReader, through: string | null): Promise<boolean> {
    const seq = through === null ? await this.newest(reader) : await this.seqOf(reader, through)
    if (seq === null) return through === null
    await this.db
      .insert(noticeReads)
      .values({ accountId: reader.id, seq })
      .onConflictDoUpdate({ target: noticeReads.accountId, set: { seq }, setWhere: lt(noticeReads.seq, seq) })
    return true
  }

  private async newest(reader: NoticeReader): Promise<number | null> {
    const [row] = await this.db
      .select({ seq: max(events.seq) })
      .from(events)
      .where(shownTo(reader))
    return row?.seq ?? null
  }

  private async seqOf(reader: NoticeReader, id: string): Promise<number | null> {
    const [row] = await this.db
      .select({ seq: events.seq })
      .from(events)
      .where(and(eq(events.id, id), shownTo(reader)))
    return row?.seq ?? null
  }

  private async readTo({ id }: NoticeReader): Promise<number> {
    const [row] = await this.db.select({ seq: noticeReads.seq }).from(noticeReads).where(eq(noticeReads.accountId, id))
    return row?.seq ?? 0
  }
}

function shownTo({ id, operator, types, keyIds = null }: NoticeReader): SQL | undefined {
  const own = and(
    eq(events.accountId, id),
    types && inArray(events.type, [...types]),
    ofKeys(events.keyId, { keyId: null, keyIds }),
  )
  return and(eq(events.dispatched, true), operator ? or(own, isNull(events.accountId)) : own)
}

/** The secrets of webhooks. */
export class LibsqlSealedWebhooks implements SealedTexts {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly SealedText[]> {
    const { id, secret, previousSecret } = webhooks
    const endpoints = await this.db.select({ id, secret, previousSecret }).from(webhooks)
    return endpoints.flatMap((row) => [
      { context: webhookContext(row.id, 'secret'), sealed: row.secret },
      ...(row.previousSecret === null
        ? []
        : [{ context: webhookContext(row.id, 'previous_secret'), sealed: row.previousSecret }]),
    ])
  }

  async replace({ context, sealed }: SealedText, by: string): Promise<void> {
    const id = context.row as WebhookId // a row of `all`
    const [column, change] =
      context.column === 'secret'
        ? [webhooks.secret, { secret: by }]
        : [webhooks.previousSecret, { previousSecret: by }]
    await this.db
      .update(webhooks)
      .set(change)
      .where(and(eq(webhooks.id, id), eq(column, sealed)))
  }
}
