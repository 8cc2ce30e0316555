import { auditEntry } from '../audit'
import { type Clock, DAY_MS, HOUR_MS, isoTime, MINUTE_MS, SECOND_MS } from '../clock'
import type { AccountId, DeliveryId, WebhookId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { Shares } from '../limits/shares'
import type { SealContext, Sealing } from '../sealing'
import { Brake } from './brake'
import { CONFIRM_EVENT, type GatewayEvent, type NewEvent, OPERATOR_EVENTS } from './event'
import {
  type Delivery,
  type DeliveryAttempt,
  type HostFailures,
  hostOf,
  type SendWebhook,
  type Webhook,
  type WebhookStore,
} from './webhook'
import { HIDDEN_CODE, type WebhookCodes } from './webhook-codes'
import { newDelivery, recorded, webhookContext } from './webhooks'

/** The pause after each failed attempt; the last one repeats. */
const PAUSES_MS = [5 * SECOND_MS, 30 * SECOND_MS, 2 * MINUTE_MS, 10 * MINUTE_MS, HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS]
/** An endpoint that failed this long is paused. */
const PAUSED_AFTER_MS = 72 * HOUR_MS
/** A host that refused so many deliveries in a row for so long, of all accounts, refuses all: an endpoint there waits no 3 days. */
const REFUSING_HOST = { failures: 50, forMs: DAY_MS, endpointForMs: HOUR_MS } as const
const EVENTS_AT_ONCE = 100
/** The log of an endpoint keeps its newest deliveries, and few of those that wait: an owner makes as many as they like. */
const KEPT_DELIVERIES = { all: 10_000, waiting: 1_000 } as const
/** After so many new ones and attempts the log is cut. */
const CUT_EVERY = 500
const EXPIRED_EVERY_MS = MINUTE_MS
/**
 * Attempts in progress: endpoints that fail, are slow or are not confirmed share slots of their own, one for each, so that they take none
 * from those that answer. No account has more than half of either. Bun bounds the requests that it sends at once, those of calls included
 * (256 if nothing sets another number), and queues the rest: receivers that hang must not fill them.
 */
const SLOTS = { healthy: { each: 4, all: 64 }, failing: { each: 1, all: 32 } } as const
/** An endpoint whose last attempt took longer is slow. */
const SLOW_MS = 2 * SECOND_MS
/** More than these are forgotten, and get their slot again when they are slow again. */
const MAX_SLOW = 10_000

type Lane = keyof typeof SLOTS

/** Attempts within a minute: to one host for all accounts, and of one account to all hosts. */
export interface DeliveryBounds {
  readonly perHost: number
  readonly perAccount: number
}

interface DeliveringParts {
  readonly store: WebhookStore
  readonly send: SendWebhook
  readonly sealing: Sealing
  readonly codes: WebhookCodes
  readonly clock: Clock
  readonly bounds: DeliveryBounds
  /** The data of an event as receivers get it: the record as the API gives it. */
  readonly describe: (event: GatewayEvent) => Promise<GatewayEvent['data']>
  readonly onError: (error: unknown) => void
}

/** Turns events into deliveries, and sends these. Everything is in the database: a restart goes on where the process ended. */
export class Delivering {
  private readonly parts: DeliveringParts
  private readonly stop = new AbortController()
  private readonly sending = new Map<DeliveryId, Promise<void>>()
  private readonly slots = new Shares()
  private readonly busy = new Map<WebhookId, number>()
  private readonly toHost: Brake
  private readonly toHostOfAccount: Brake
  private readonly ofAccount: Brake
  /** The accounts that have something due at each host in this round. */
  private waitingAt: ReadonlyMap<string, ReadonlySet<AccountId>> = new Map()
  /** Whether an endpoint found all healthy slots taken in this round, or those of its account. */
  private isFull = false
  private readonly slow = new Set<WebhookId>()
  /** The number of the start at which each endpoint that is due last began an attempt. */
  private lastStarts = new Map<WebhookId, number>()
  private starts = 0
  private readonly starting = new KeyedMutex()
  /** New deliveries and attempts of each endpoint since its log was cut. */
  private readonly sinceCut = new Map<WebhookId, number>()
  private expiredAt = Number.NEGATIVE_INFINITY

  constructor(parts: DeliveringParts) {
    this.parts = parts
    const { perHost, perAccount } = parts.bounds
    this.toHost = new Brake(perHost)
    this.toHostOfAccount = new Brake(Math.max(1, Math.floor(perHost / 2)))
    this.ofAccount = new Brake(perAccount)
  }

  /** One round: dispatches all waiting events and starts the attempts that are due. Does not wait for the receivers. */
  async run(): Promise<void> {
    while (await this.dispatch());
    const now = this.parts.clock.now()
    if (now - this.expiredAt >= EXPIRED_EVERY_MS) {
      this.expiredAt = now
      await this.parts.store.expire(now)
    }
    const due = await this.parts.store.due(now)
    this.isFull = false
    const waitingAt = new Map<string, Set<AccountId>>()
    for (const { url, accountId } of due)
      waitingAt.set(hostOf(url), (waitingAt.get(hostOf(url)) ?? new Set()).add(accountId))
    this.waitingAt = waitingAt
    for (const webhook of this.fairOrder(due)) await this.start(webhook, now)
  }

  /** First those of accounts with the fewest attempts in progress, then the longest waiting, so that no account keeps all slots. */
  private fairOrder(due: readonly Webhook[]): readonly Webhook[] {
    this.lastStarts = new Map(due.map(({ id }) => [id, this.lastStarts.get(id) ?? 0]))
    const busy = ({ accountId }: Webhook) =>
      this.slots.heldBy('healthy', accountId) + this.slots.heldBy('failing', accountId)
    const waited = (of: Webhook) => [busy(of), this.lastStarts.get(of.id) ?? 0] as const
    return due.toSorted((a, b) => waited(a)[0] - waited(b)[0] || waited(a)[1] - waited(b)[1])
  }

  /** Resolves when no attempt is in progress. */
  async settled(): Promise<void> {
    while (this.sending.size > 0) await Promise.all(this.sending.values())
  }

  /** Aborts the attempts in progress; their deliveries stay pending. */
  async close(): Promise<void> {
    this.stop.abort()
    await this.settled()
  }

  private async dispatch(): Promise<boolean> {
    const waiting = await this.parts.store.waiting(EVENTS_AT_ONCE)
    if (waiting.length === 0 || this.stop.signal.aborted) return false
    const described = await Promise.all(waiting.map((event) => this.described(event)))
    const accounts = new Set(described.flatMap(({ accountId }) => (accountId === null ? [] : [accountId])))
    const receivers = await this.parts.store.receivers([...accounts] as readonly AccountId[])
    const now = this.parts.clock.now()
    const deliveries = described.flatMap((event) => {
      const { id: eventId, type } = event
      const body = JSON.stringify({ type, timestamp: isoTime(event.at), data: event.data })
      return receivers
        .filter((receiver) => receives(receiver, event))
        .map(({ id: webhookId }) => newDelivery({ webhookId, eventId, type, body }, now))
    })
    await this.parts.store.dispatch(described, deliveries)
    for (const { webhookId } of deliveries) await this.count(webhookId)
    return waiting.length === EVENTS_AT_ONCE
  }

  /** Cuts the log of an endpoint now and then, and at the first delivery after a start. */
  private async count(id: WebhookId): Promise<void> {
    const counted = (this.sinceCut.get(id) ?? CUT_EVERY) + 1
    this.sinceCut.set(id, counted < CUT_EVERY ? counted : 0)
    if (counted >= CUT_EVERY) await this.parts.store.cutLog(id, KEPT_DELIVERIES)
  }

  /** An event whose record cannot be read is sent as it was stored, so that it stops none behind it. */
  private async described(event: GatewayEvent): Promise<GatewayEvent> {
    try {
      return { ...event, data: await this.parts.describe(event) }
    } catch (error) {
      this.parts.onError(error)
      return event
    }
  }

  private start(webhook: Webhook, now: number): Promise<void> {
    return this.starting.take(webhook.id, () => this.startDue(webhook, now))
  }

  private async startDue(webhook: Webhook, now: number): Promise<void> {
    const isTrusted = webhook.confirmedAt !== null && webhook.failingSince === null && !this.slow.has(webhook.id)
    const lane: Lane = isTrusted ? 'healthy' : 'failing'
    const { each } = SLOTS[lane]
    const isFree = () => (this.busy.get(webhook.id) ?? 0) < each && this.mayStart(webhook, now)
    if (!isFree()) return
    this.lastStarts.set(webhook.id, ++this.starts)
    // A delivery in progress is still due, also if it arrives while this is read.
    const sent = new Set(this.sending.keys())
    for (const delivery of await this.parts.store.dueOf(webhook, now, each * 2)) {
      if (this.stop.signal.aborted || !isFree()) return
      if (sent.has(delivery.id)) continue
      if (!this.take(lane, webhook, now)) return
      const attempt = this.attempt(webhook, delivery).catch(this.parts.onError)
      const ended = attempt.then((isDelivered) => {
        this.sending.delete(delivery.id)
        this.giveBack(lane, webhook)
        // The next one follows at once where the receiver answers.
        if (isDelivered === true && !this.stop.signal.aborted) return this.goOn(webhook)
      })
      this.sending.set(delivery.id, ended)
    }
  }

  private async goOn(webhook: Webhook): Promise<void> {
    // Others wait for the slot: the next round gives it to them.
    if (this.isFull || this.slow.has(webhook.id)) return
    try {
      await this.start({ ...webhook, failingSince: null, status: 'active' }, this.parts.clock.now())
    } catch (error) {
      this.parts.onError(error)
    }
  }

  /** Whether the minute of the host and of the account has room. While others wait for a host, an account has half of its minute. */
  private mayStart({ url, accountId }: Webhook, now: number): boolean {
    const host = hostOf(url)
    const waiting = this.waitingAt.get(host)
    const othersWait = waiting !== undefined && waiting.size > (waiting.has(accountId) ? 1 : 0)
    return (
      this.ofAccount.isFree(accountId, now) &&
      this.toHost.isFree(host, now) &&
      (!othersWait || this.toHostOfAccount.isFree(`${host} ${accountId}`, now))
    )
  }

  /** Takes a slot, and counts the attempt in the minutes that have room. */
  private take(lane: Lane, { id, url, accountId }: Webhook, now: number): boolean {
    const noSlot = this.slots.take(lane, accountId, SLOTS[lane].all)
    if (noSlot !== null && lane === 'healthy') this.isFull = true
    if (noSlot !== null) return false
    this.busy.set(id, (this.busy.get(id) ?? 0) + 1)
    this.ofAccount.take(accountId, now)
    this.toHost.take(hostOf(url), now)
    this.toHostOfAccount.take(`${hostOf(url)} ${accountId}`, now)
    return true
  }

  private giveBack(lane: Lane, { id, accountId }: Webhook): void {
    this.slots.giveBack(lane, accountId)
    const busy = (this.busy.get(id) ?? 1) - 1
    if (busy === 0) this.busy.delete(id)
    else this.busy.set(id, busy)
  }

  /** Returns whether the endpoint has received it. */
  private async attempt(webhook: Webhook, delivery: Delivery): Promise<boolean> {
    const { eventId } = delivery
    const secrets = this.secretsOf(webhook)
    const at = this.parts.clock.now()
    const { signal } = this.stop
    const code = delivery.type === CONFIRM_EVENT ? this.parts.codes.of(webhook, delivery.id) : null
    const body = code === null ? delivery.body : delivery.body.replace(HIDDEN_CODE, code)
    const attempt: DeliveryAttempt =
      secrets === null
        ? { status: null, body: null, error: 'The secret could not be decrypted. Rotate it.', durationMs: 0 }
        : await this.parts.send({ url: webhook.url, eventId, at, body, secrets, signal })
    if (signal.aborted) return false
    this.remember(webhook.id, attempt)
    const isDelivered = attempt.status !== null && attempt.status >= 200 && attempt.status < 300
    const now = this.parts.clock.now()
    const isOnce = code !== null || webhook.status === 'paused'
    const outcome = attempted(delivery, attempt, isDelivered, isOnce, now)
    if (code !== null) await this.finishCode(webhook, outcome, isDelivered && attempt.body?.trim() === code)
    else await this.finish(webhook, outcome, secrets === null ? null : hostOf(webhook.url), at)
    await this.count(webhook.id)
    return isDelivered
  }

  /** The log does not keep the answer, which may contain the code. An answer that is nothing but the code confirms the endpoint. */
  private async finishCode(webhook: Webhook, outcome: Delivery, isAnswered: boolean): Promise<void> {
    await this.parts.store.finish(
      { ...outcome, responseBody: null },
      { id: webhook.id, failingSince: null, status: null },
      null,
    )
    if (!isAnswered) return
    const at = this.parts.clock.now()
    const { accountId } = webhook
    const actor = { kind: 'system', id: 'webhooks', address: null } as const
    const detail = recorded({ ...webhook, confirmedAt: at })
    await this.parts.store.confirm(webhook, at, auditEntry({ at, actor, accountId, action: 'webhook.confirm', detail }))
  }

  /** `host`: null if it was not asked. `at`: when the attempt began. */
  private async finish(webhook: Webhook, outcome: Delivery, host: string | null, at: number): Promise<void> {
    const isDelivered = outcome.state === 'delivered'
    const now = this.parts.clock.now()
    const failingSince = isDelivered ? null : (webhook.failingSince ?? at)
    const failures = host === null ? null : await this.parts.store.noteHost(host, isDelivered, at)
    const isPaused = failingSince !== null && isLost(now - failingSince, failures, now)
    const isResumed = isDelivered && webhook.status === 'paused'
    await this.parts.store.finish(
      outcome,
      { id: webhook.id, failingSince, status: isPaused ? 'paused' : isResumed ? 'active' : null },
      isPaused ? pausedEvent(webhook, failingSince, now) : null,
    )
  }

  private remember(id: WebhookId, { durationMs }: DeliveryAttempt): void {
    if (durationMs <= SLOW_MS) this.slow.delete(id)
    else if (this.slow.size < MAX_SLOW) this.slow.add(id)
    else this.slow.clear()
  }

  /** The current secret first; null if no key opens it. */
  private secretsOf({ id, secret, previousSecret, previousUntil }: Webhook): readonly string[] | null {
    const current = this.opened(secret, webhookContext(id, 'secret'))
    if (current === null) return null
    const overlaps = previousSecret !== null && previousUntil !== null && this.parts.clock.now() < previousUntil
    const previous = overlaps ? this.opened(previousSecret, webhookContext(id, 'previous_secret')) : null
    return previous === null ? [current] : [current, previous]
  }

  private opened(sealed: string, context: SealContext): string | null {
    try {
      return this.parts.sealing.open(sealed, context).text
    } catch {
      return null
    }
  }
}

function receives(webhook: Webhook & { readonly operator: boolean }, { type, accountId }: GatewayEvent): boolean {
  const isWanted = webhook.events.length === 0 || webhook.events.some((wanted) => wanted === type)
  const isOperators = OPERATOR_EVENTS.some((own) => own === type)
  return isWanted && (isOperators ? webhook.operator : webhook.accountId === accountId)
}

/** Whether an endpoint that failed for so long is paused. */
function isLost(forMs: number, host: HostFailures | null, now: number): boolean {
  const { failures, forMs: hostForMs, endpointForMs } = REFUSING_HOST
  const isRefused = host !== null && host.failures >= failures && now - host.since >= hostForMs
  return forMs >= (isRefused ? endpointForMs : PAUSED_AFTER_MS)
}

/** `isOnce`: it is not tried again. */
function attempted(
  delivery: Delivery,
  attempt: DeliveryAttempt,
  isDelivered: boolean,
  isOnce: boolean,
  now: number,
): Delivery {
  const attempts = delivery.attempts + 1
  const nextAt = now + (PAUSES_MS[Math.min(attempts, PAUSES_MS.length) - 1] ?? 0)
  return {
    ...delivery,
    attempts,
    nextAt,
    lastAt: now,
    durationMs: attempt.durationMs,
    state: isDelivered ? 'delivered' : isOnce || nextAt >= delivery.expiresAt ? 'failed' : 'pending',
    responseStatus: attempt.status,
    responseBody: attempt.body,
    error: attempt.error,
  }
}

function pausedEvent({ id, accountId, url }: Webhook, failingSince: number, at: number): NewEvent {
  return {
    id: `evt_${id.slice('hook_'.length)}_paused${failingSince}`,
    type: 'webhook.paused',
    accountId,
    keyId: null,
    at,
    data: { webhook_id: id, host: URL.parse(url)?.host ?? '', failing_since: isoTime(failingSince) },
  }
}
