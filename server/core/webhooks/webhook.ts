import type { AuditEntry } from '../audit'
import type { AccountId, AppGrantId, DeliveryId, WebhookId } from '../ids'
import type { EventType, GatewayEvent, NewEvent } from './event'

/** An endpoint of an owner that receives events. */
export interface Webhook {
  readonly id: WebhookId
  readonly accountId: AccountId
  readonly url: string
  /** Which events it receives. Empty for all. */
  readonly events: readonly EventType[]
  /** `paused`: it failed for long (then `failingSince` is set), or its owner paused it. It receives nothing, or only tests. */
  readonly status: 'active' | 'paused'
  /** When the code that was sent to its URL came back. Null: not yet, so it receives only the code. */
  readonly confirmedAt: number | null
  /** How often its newest code was tried. */
  readonly codeTries: number
  /** How many events were dropped because too many waited. */
  readonly dropped: number
  /** Sealed. */
  readonly secret: string
  /** Sealed. Signs as well as the new secret until `previousUntil`. */
  readonly previousSecret: string | null
  readonly previousUntil: number | null
  /** Of the first failed attempt since the last success. */
  readonly failingSince: number | null
  readonly createdAt: number
  /** The app that made it or chose its URL, with which it is paused; null for its owner. */
  readonly app: WebhookApp | null
}

/** An app that acts for an owner: its connection. */
export interface WebhookApp {
  readonly id: AppGrantId
  readonly name: string
  readonly disconnectedAt: number | null
}

/** The status as its owner sees it. */
export function statusOf({ status, confirmedAt }: Pick<Webhook, 'status' | 'confirmedAt'>) {
  return status === 'active' && confirmedAt === null ? 'unconfirmed' : status
}

/** Whose deliveries are counted together: the host without its port. */
export function hostOf(url: string): string {
  return URL.parse(url)?.hostname.replace(/\.$/, '') ?? ''
}

/** How often a host failed in a row, for all accounts, and since when. */
export interface HostFailures {
  readonly failures: number
  readonly since: number
}

export type DeliveryState = 'pending' | 'delivered' | 'failed'

/** One event for one endpoint. */
export interface Delivery {
  readonly id: DeliveryId
  readonly webhookId: WebhookId
  readonly eventId: string
  readonly type: string
  /** The body of every attempt. */
  readonly body: string
  readonly state: DeliveryState
  readonly attempts: number
  readonly createdAt: number
  readonly nextAt: number
  /** When the last retry ends. */
  readonly expiresAt: number
  readonly lastAt: number | null
  readonly durationMs: number | null
  readonly responseStatus: number | null
  readonly responseBody: string | null
  readonly error: string | null
}

/** The result of an attempt. An endpoint has received an event when it answers with a status from 200 to 299. */
export interface DeliveryAttempt {
  readonly status: number | null
  /** The first 4 KB of the answer. */
  readonly body: string | null
  readonly error: string | null
  readonly durationMs: number
}

/** Sends a signed event to an endpoint. Never rejects. */
export type SendWebhook = (request: {
  readonly url: string
  readonly eventId: string
  readonly at: number
  readonly body: string
  /** The current secret first. */
  readonly secrets: readonly string[]
  readonly signal: AbortSignal
}) => Promise<DeliveryAttempt>

/** Stores endpoints and deliveries, and reads the outbox. Each method is one commit. */
export interface WebhookStore {
  of(account: AccountId): Promise<readonly Webhook[]>
  byId(account: AccountId, id: WebhookId): Promise<Webhook | null>
  create(webhook: Webhook, audit: AuditEntry): Promise<void>
  /** Writes only what is given: what a delivery finds out meanwhile stays. */
  update(id: WebhookId, settings: Partial<Omit<Webhook, 'id' | 'accountId'>>, audit: AuditEntry): Promise<void>
  /** Removes the endpoint with its deliveries. */
  remove(id: WebhookId, audit: AuditEntry): Promise<void>
  /** Pauses the endpoints of an app, whose deliveries that wait are not sent. */
  pauseOfApp(holder: { readonly userId: string; readonly clientId: string }): Promise<void>
  /** Removes the events, endpoints and deliveries of an account that closes. */
  forget(account: AccountId): Promise<void>
  /** Newest first. */
  deliveries(webhook: WebhookId, limit: number, after: DeliveryId | null): Promise<readonly Delivery[]>
  delivery(webhook: WebhookId, id: DeliveryId): Promise<Delivery | null>
  addDelivery(delivery: Delivery): Promise<void>
  /** Adds the delivery of a new code. All else that waits for the endpoint is not sent any more, and the code has had no tries. */
  addCode(delivery: Delivery): Promise<void>
  /** The newest delivery of a code. */
  lastCode(webhook: WebhookId): Promise<Delivery | null>
  /** Counts a try of the newest code, unless there were `max`: then false. Atomic. */
  tryCode(webhook: WebhookId, max: number): Promise<boolean>
  /** Confirms an endpoint, unless its URL is another one by now. */
  confirm(webhook: Pick<Webhook, 'id' | 'url'>, at: number, audit: AuditEntry): Promise<void>
  /** Makes a delivery due again. */
  retry(id: DeliveryId, now: number, expiresAt: number): Promise<void>

  /** Adds events that no commit causes; an id that is known is ignored. */
  addEvents(events: readonly NewEvent[]): Promise<void>
  /** Counts an event that could not be written, for the metrics. */
  countLost(): void
  /** How many were lost since the start of the process. */
  readonly lostEvents: number
  /** Events that were not dispatched, oldest first. */
  waiting(limit: number): Promise<readonly GatewayEvent[]>
  /** Active and confirmed endpoints of these accounts, and of operators. */
  receivers(accounts: readonly AccountId[]): Promise<readonly (Webhook & { readonly operator: boolean })[]>
  /** Stores the data of events as it is sent, and their deliveries, in one commit. Repeating it changes nothing. */
  dispatch(events: readonly GatewayEvent[], deliveries: readonly Delivery[]): Promise<void>

  /**
   * Endpoints with a due delivery that they may be sent: unconfirmed ones their code, those that were paused because they failed tests,
   * and active ones all.
   */
  due(now: number): Promise<readonly Webhook[]>
  /** Due deliveries that an endpoint may be sent, the longest due first; none if its URL is another one by now. */
  dueOf(webhook: Pick<Webhook, 'id' | 'url'>, now: number, limit: number): Promise<readonly Delivery[]>
  /**
   * Stores an attempt with the endpoint's health. A delivery that was sent again during the attempt stays due, and one that ended is
   * not retried. `paused` ends what waits and stores the event for its owner; `active` resumes it, unless its owner has paused it.
   */
  finish(
    delivery: Delivery,
    health: Pick<Webhook, 'id' | 'failingSince'> & { readonly status: Webhook['status'] | null },
    notice: NewEvent | null,
  ): Promise<void>
  /** Forgets the failures of a host that received an event, or counts one more and returns them. Atomic. */
  noteHost(host: string, isDelivered: boolean, at: number): Promise<HostFailures | null>
  /**
   * Removes all but the newest deliveries of an endpoint, and drops and counts all but the newest of those that wait. One that is being sent
   * may be among them.
   */
  cutLog(webhook: WebhookId, kept: { readonly all: number; readonly waiting: number }): Promise<void>
  /** Ends deliveries whose time is over, and removes those of deleted endpoints and old failures of hosts. */
  expire(now: number): Promise<void>
}
