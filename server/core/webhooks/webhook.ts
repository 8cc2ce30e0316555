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
  /** `paused`: it failed for 3 days, or its owner paused it. It receives nothing. */
  readonly status: 'active' | 'paused'
  /** Sealed. */
  readonly secret: string
  /** Sealed. Signs beside the new secret until `previousUntil`. */
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

/** What an attempt came to. An endpoint has received an event when it answers with a status from 200 to 299. */
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
  /** Active endpoints of these accounts, and of operators. */
  receivers(accounts: readonly AccountId[]): Promise<readonly (Webhook & { readonly operator: boolean })[]>
  /** Stores the data of events as it is sent, and their deliveries, in one commit. Repeating it changes nothing. */
  dispatch(events: readonly GatewayEvent[], deliveries: readonly Delivery[]): Promise<void>

  /** Active endpoints with a due delivery. */
  due(now: number): Promise<readonly Webhook[]>
  /** Due deliveries of an endpoint, the longest due first. */
  dueOf(webhook: WebhookId, now: number, limit: number): Promise<readonly Delivery[]>
  /**
   * Stores an attempt with the endpoint's health. A delivery that was sent again during the attempt stays due, and one that ended is
   * not retried. Also stores the event for its owner when it is paused.
   */
  finish(
    delivery: Delivery,
    health: Pick<Webhook, 'id' | 'failingSince' | 'status'>,
    notice: NewEvent | null,
  ): Promise<void>
  /** Removes all but the newest deliveries of an endpoint, also those that wait. */
  cutLog(webhook: WebhookId, kept: number): Promise<void>
  /** Ends deliveries whose time is over, and removes those of endpoints that are gone. */
  expire(now: number): Promise<void>
}
