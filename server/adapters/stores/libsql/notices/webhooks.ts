import { and, asc, desc, eq, inArray, isNotNull, lt, lte, notInArray, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { AccountDirectory } from '../../../../core/accounts/directory'
import type { AuditEntry } from '../../../../core/audit'
import { DAY_MS } from '../../../../core/clock'
import type { TokenHolder } from '../../../../core/credentials/oauth-grant'
import type { AccountId, DeliveryId, WebhookId } from '../../../../core/ids'
import {
  CONFIRM_EVENT,
  type GatewayEvent,
  type NewEvent,
  OPERATOR_EVENTS,
  TEST_EVENT,
} from '../../../../core/webhooks/event'
import type { Delivery, HostFailures, Webhook, WebhookStore } from '../../../../core/webhooks/webhook'
import { auditRow } from '../audit/audit-trail'
import { auditLog } from '../schema/accounts'
import { connections } from '../schema/connections'
import { events, noticeMails, noticeReads, webhookDeliveries, webhookHosts, webhooks } from '../schema/events'
import { addEvents } from './add-events'

/** Endpoints, deliveries and the outbox. Rows of the outbox come from triggers, in the commit that causes them. */
export class LibsqlWebhooks implements WebhookStore {
  lostEvents = 0
  private readonly db: LibSQLDatabase
  private readonly directory: Pick<AccountDirectory, 'withRole'>

  constructor(db: LibSQLDatabase, directory: Pick<AccountDirectory, 'withRole'>) {
    this.db = db
    this.directory = directory
  }

  async of(account: AccountId): Promise<readonly Webhook[]> {
    const rows = await this.select().where(eq(webhooks.accountId, account)).orderBy(desc(webhooks.id))
    return rows.map(webhookOf)
  }

  async byId(account: AccountId, id: WebhookId): Promise<Webhook | null> {
    const [row] = await this.select().where(and(eq(webhooks.id, id), eq(webhooks.accountId, account)))
    return row ? webhookOf(row) : null
  }

  async create(webhook: Webhook, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.insert(webhooks).values({ ...webhook, connectionId: webhook.app?.id ?? null }),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
  }

  async update(
    id: WebhookId,
    { app, ...settings }: Partial<Omit<Webhook, 'id' | 'accountId'>>,
    audit: AuditEntry,
  ): Promise<void> {
    const maker = app === undefined ? {} : { connectionId: app?.id ?? null }
    await this.db.batch([
      this.db
        .update(webhooks)
        .set({ ...settings, ...maker })
        .where(eq(webhooks.id, id)),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
  }

  async remove(id: WebhookId, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db.insert(auditLog).values(auditRow(audit)),
      this.db.delete(webhookDeliveries).where(eq(webhookDeliveries.webhookId, id)),
      this.db.delete(webhooks).where(eq(webhooks.id, id)),
    ])
  }

  async pauseOfApp({ userId, clientId }: TokenHolder): Promise<void> {
    const grants = this.db
      .select({ id: connections.id })
      .from(connections)
      .where(and(eq(connections.userId, userId), eq(connections.clientId, clientId)))
    const own = this.db.select({ id: webhooks.id }).from(webhooks).where(inArray(webhooks.connectionId, grants))
    await this.db.batch([
      this.db
        .update(webhookDeliveries)
        .set({ state: 'failed', error: 'The app that made this webhook gave its access back.' })
        .where(and(IS_PENDING, inArray(webhookDeliveries.webhookId, own))),
      this.db.update(webhooks).set({ status: 'paused' }).where(inArray(webhooks.connectionId, grants)),
    ])
  }

  async forget(account: AccountId): Promise<void> {
    const own = this.db.select({ id: webhooks.id }).from(webhooks).where(eq(webhooks.accountId, account))
    await this.db.batch([
      this.db.delete(webhookDeliveries).where(inArray(webhookDeliveries.webhookId, own)),
      this.db.delete(webhooks).where(eq(webhooks.accountId, account)),
      this.db.delete(events).where(eq(events.accountId, account)),
      this.db.delete(noticeReads).where(eq(noticeReads.accountId, account)),
      this.db.delete(noticeMails).where(eq(noticeMails.accountId, account)),
    ])
  }

  async deliveries(webhook: WebhookId, limit: number, after: DeliveryId | null): Promise<readonly Delivery[]> {
    return this.log(
      and(eq(webhookDeliveries.webhookId, webhook), after === null ? undefined : lt(webhookDeliveries.id, after)),
      limit,
    )
  }

  async delivery(webhook: WebhookId, id: DeliveryId): Promise<Delivery | null> {
    const [row] = await this.log(and(eq(webhookDeliveries.webhookId, webhook), eq(webhookDeliveries.id, id)), 1)
    return row ?? null
  }

  async addDelivery(delivery: Delivery): Promise<void> {
    await this.db.insert(webhookDeliveries).values(delivery)
  }

  async addCode(delivery: Delivery): Promise<void> {
    const { webhookId } = delivery
    await this.db.batch([
      this.endWaiting(webhookId, 'The URL waits for its confirmation, or a newer code was sent.'),
      this.db.insert(webhookDeliveries).values(delivery),
      this.db.update(webhooks).set({ codeTries: 0 }).where(eq(webhooks.id, webhookId)),
    ])
  }

  async lastCode(webhook: WebhookId): Promise<Delivery | null> {
    const { webhookId, type } = webhookDeliveries
    const [row] = await this.log(and(eq(webhookId, webhook), eq(type, CONFIRM_EVENT)), 1)
    return row ?? null
  }

  async tryCode(webhook: WebhookId, max: number): Promise<boolean> {
    const { rowsAffected } = await this.db
      .update(webhooks)
      .set({ codeTries: sql`${webhooks.codeTries} + 1` })
      .where(and(eq(webhooks.id, webhook), lt(webhooks.codeTries, max)))
    return rowsAffected > 0
  }

  async confirm({ id, url }: Pick<Webhook, 'id' | 'url'>, at: number, audit: AuditEntry): Promise<void> {
    await this.db.batch([
      this.db
        .update(webhooks)
        .set({ confirmedAt: at })
        .where(and(eq(webhooks.id, id), eq(webhooks.url, url))),
      this.db.insert(auditLog).values(auditRow(audit)),
    ])
  }

  async retry(id: DeliveryId, now: number, expiresAt: number): Promise<void> {
    await this.db
      .update(webhookDeliveries)
      // Another expiry than before, by which `finish` sees that this happened during an attempt.
      .set({
        state: 'pending',
        nextAt: now,
        expiresAt: sql`max(${webhookDeliveries.expiresAt} + 1, ${expiresAt})`,
        error: null,
      })
      .where(eq(webhookDeliveries.id, id))
  }

  countLost(): void {
    this.lostEvents++
  }

  async addEvents(added: readonly NewEvent[]): Promise<void> {
    await addEvents(this.db, added)
  }

  async waiting(limit: number): Promise<readonly GatewayEvent[]> {
    return this.db.select(EVENT).from(events).where(sql`${events.dispatched} = 0`).orderBy(asc(events.seq)).limit(limit)
  }

  async receivers(of: readonly AccountId[]): Promise<readonly (Webhook & { readonly operator: boolean })[]> {
    const operators = new Set(this.directory.withRole('operator'))
    const rows = await this.select().where(
      and(
        eq(webhooks.status, 'active'),
        isNotNull(webhooks.confirmedAt),
        inArray(webhooks.accountId, [...new Set([...of, ...operators])]),
      ),
    )
    return rows.map((row) => ({ ...webhookOf(row), operator: operators.has(row.webhook.accountId) }))
  }

  async dispatch(dispatched: readonly GatewayEvent[], deliveries: readonly Delivery[]): Promise<void> {
    const [first, ...rest] = dispatched.map(({ seq, data }) =>
      this.db.update(events).set({ data, dispatched: true }).where(eq(events.seq, seq)),
    )
    if (!first) return
    await this.db.batch([
      first,
      ...rest,
      ...deliveries.map((delivery) => this.db.insert(webhookDeliveries).values(delivery).onConflictDoNothing()),
    ])
  }

  async due(now: number): Promise<readonly Webhook[]> {
    const one = sql`SELECT 1 FROM ${webhookDeliveries} WHERE ${webhookDeliveries.webhookId} = ${webhooks.id}
      AND ${IS_PENDING} AND ${webhookDeliveries.nextAt} <= ${now} AND ${MAY_BE_SENT} AND ${this.isForReceiver()}`
    const rows = await this.select().where(and(MAY_RECEIVE, sql`EXISTS (${one})`))
    return rows.map(webhookOf)
  }

  async dueOf({ id, url }: Pick<Webhook, 'id' | 'url'>, now: number, limit: number): Promise<readonly Delivery[]> {
    return this.db
      .select()
      .from(webhookDeliveries)
      .where(
        and(
          eq(webhookDeliveries.webhookId, id),
          IS_PENDING,
          lte(webhookDeliveries.nextAt, now),
          // It may have been paused, or got another URL, since it was read.
          sql`EXISTS (SELECT 1 FROM ${webhooks} WHERE ${webhooks.id} = ${id} AND ${webhooks.url} = ${url}
            AND ${MAY_RECEIVE} AND ${MAY_BE_SENT})`,
          this.isForReceiver(),
        ),
      )
      .orderBy(asc(webhookDeliveries.nextAt))
      .limit(limit)
  }

  async finish(
    delivery: Delivery,
    { id, failingSince, status }: Pick<Webhook, 'id' | 'failingSince'> & { readonly status: Webhook['status'] | null },
    notice: NewEvent | null,
  ): Promise<void> {
    const { id: deliveryId, state, nextAt, expiresAt, ...outcome } = delivery
    const row = webhookDeliveries
    // During the attempt the delivery may have been sent again, which stays due, or ended.
    const after = sql`CASE WHEN ${row.expiresAt} <> ${expiresAt} OR (${row.state} = 'failed' AND ${state} = 'pending')
      THEN ${row.state} ELSE ${state} END`
    const next = sql`iif(${row.expiresAt} <> ${expiresAt}, ${row.nextAt}, ${nextAt})`
    await this.db.batch([
      this.db
        .update(row)
        .set({ ...outcome, state: after, nextAt: next })
        .where(eq(row.id, deliveryId)),
      this.db
        .update(webhooks)
        // The owner may have paused it meanwhile, which sets no time of failure, and neither does this then.
        .set({
          failingSince: sql`iif(${webhooks.status} = 'paused' AND ${webhooks.failingSince} IS NULL, NULL, ${failingSince})`,
          ...(status === 'paused' && { status }),
          ...(status === 'active' && {
            status: sql`iif(${webhooks.failingSince} IS NULL, ${webhooks.status}, ${status})`,
          }),
        })
        .where(eq(webhooks.id, id)),
      ...(status === 'paused' ? [this.endWaiting(id, 'The webhook was paused because it failed.')] : []),
      ...(notice ? [this.db.insert(events).values(notice).onConflictDoNothing()] : []),
    ])
  }

  async noteHost(host: string, isDelivered: boolean, at: number): Promise<HostFailures | null> {
    if (isDelivered) {
      await this.db.delete(webhookHosts).where(eq(webhookHosts.host, host))
      return null
    }
    const [row] = await this.db
      .insert(webhookHosts)
      .values({ host, failures: 1, since: at })
      .onConflictDoUpdate({ target: webhookHosts.host, set: { failures: sql`${webhookHosts.failures} + 1` } })
      .returning()
    return row ?? null
  }

  async cutLog(webhook: WebhookId, kept: { readonly all: number; readonly waiting: number }): Promise<void> {
    const oldestKept = sql`SELECT id FROM webhook_deliveries INDEXED BY webhook_deliveries_due
      WHERE webhook_id = ${webhook} AND state = 'pending' ORDER BY id DESC LIMIT 1 OFFSET ${kept.waiting - 1}`
    await this.db.batch([
      this.db.run(sql`UPDATE webhook_deliveries INDEXED BY webhook_deliveries_due
        SET state = 'failed', error = 'It was dropped, because too many waited.'
        WHERE webhook_id = ${webhook} AND state = 'pending' AND id < (${oldestKept})`),
      this.db
        .update(webhooks)
        .set({ dropped: sql`${webhooks.dropped} + changes()` })
        .where(eq(webhooks.id, webhook)),
    ])
    // By its own index: in the order of the primary key, deliveries of all other endpoints would be read too.
    const newest = sql`SELECT id FROM webhook_deliveries INDEXED BY webhook_deliveries_event
      WHERE webhook_id = ${webhook} ORDER BY id DESC LIMIT 1 OFFSET ${kept.all - 1}`
    await this.db.run(sql`DELETE FROM webhook_deliveries INDEXED BY webhook_deliveries_event
      WHERE webhook_id = ${webhook} AND id < (${newest})`)
  }

  async expire(now: number): Promise<void> {
    const known = this.db.select({ id: webhooks.id }).from(webhooks)
    await this.db.batch([
      // Their endpoint was removed while their event was dispatched.
      this.db.delete(webhookDeliveries).where(and(IS_PENDING, notInArray(webhookDeliveries.webhookId, known))),
      this.db
        .update(webhookDeliveries)
        .set({ state: 'failed', error: sql`coalesce(${webhookDeliveries.error}, 'It waited for too long.')` })
        .where(and(IS_PENDING, lte(webhookDeliveries.expiresAt, now))),
      this.db.delete(webhookHosts).where(lt(webhookHosts.since, now - HOST_FAILURES_MS)),
    ])
  }

  private endWaiting(webhook: WebhookId, error: string) {
    return this.db
      .update(webhookDeliveries)
      .set({ state: 'failed', error })
      .where(and(IS_PENDING, eq(webhookDeliveries.webhookId, webhook)))
  }

  private select() {
    return this.db
      .select({ webhook: webhooks, app: APP })
      .from(webhooks)
      .leftJoin(connections, eq(connections.id, webhooks.connectionId))
  }

  /** An account that is no longer operator gets no operators' events, also none that were queued or logged before. */
  private isForReceiver(): SQL {
    const operators = JSON.stringify(this.directory.withRole('operator'))
    return sql`(${notInArray(webhookDeliveries.type, [...OPERATOR_EVENTS])} OR EXISTS (
      SELECT 1 FROM ${webhooks} WHERE ${webhooks.id} = ${webhookDeliveries.webhookId}
      AND ${webhooks.accountId} IN (SELECT value FROM json_each(${operators}))))`
  }

  private async log(where: SQL | undefined, limit: number): Promise<readonly Delivery[]> {
    return this.db
      .select()
      .from(webhookDeliveries)
      .where(and(where, this.isForReceiver()))
      .orderBy(desc(webhookDeliveries.id))
      .limit(limit)
  }
}

/** Word for word the condition of the index of deliveries that wait, or SQLite would not use it. */
const IS_PENDING = sql`${webhookDeliveries.state} = 'pending'`

/** Endpoints that may be sent anything at all. */
const MAY_RECEIVE = sql`(${webhooks.status} = 'active' OR ${webhooks.failingSince} IS NOT NULL)`
/** Which deliveries: those without confirmation only their code, those that were paused because they failed only tests. */
const MAY_BE_SENT = sql`CASE WHEN ${webhooks.confirmedAt} IS NULL
  THEN ${webhooks.status} = 'active' AND ${webhookDeliveries.type} = ${CONFIRM_EVENT}
  ELSE ${webhookDeliveries.type} <> ${CONFIRM_EVENT} AND (${webhooks.status} = 'active' OR ${webhookDeliveries.type} = ${TEST_EVENT}) END`

/** How long the failures of a host are remembered. */
const HOST_FAILURES_MS = 7 * DAY_MS

const APP = { id: connections.id, name: connections.name, disconnectedAt: connections.disconnectedAt }

function webhookOf({ webhook, app }: { webhook: typeof webhooks.$inferSelect; app: Webhook['app'] }): Webhook {
  const { connectionId: _, ...row } = webhook
  return { ...row, app }
}

const EVENT = {
  seq: events.seq,
  id: events.id,
  type: events.type,
  accountId: events.accountId,
  keyId: events.keyId,
  at: events.at,
  data: events.data,
}
