import { randomBytes } from 'node:crypto'
import { type Actor, type AuditAction, auditEntry } from '../audit'
import { type Clock, DAY_MS, isoTime, MINUTE_MS } from '../clock'
import { type Failure, failure } from '../failure'
import { type AccountId, type DeliveryId, makeId, type WebhookId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { err, ok, type Result } from '../result'
import type { SealContext, Sealing } from '../sealing'
import { type EventType, OPERATOR_EVENTS, TEST_EVENT } from './event'
import { MinuteBrake } from './minute-brake'
import type { Delivery, Webhook, WebhookApp, WebhookStore } from './webhook'

/** Whose endpoints they are. Operators also receive the events of the whole gateway. */
export interface WebhookOwner {
  readonly accountId: AccountId
  readonly actor: Actor
  readonly account: { readonly operator: boolean }
  /** The app that acts for the owner, if one does. */
  readonly app?: WebhookApp
}

export interface WebhookForm {
  readonly url: string
  readonly events: readonly EventType[]
}

type Outcome<T> = Promise<Result<T, Failure>>

const MAX_WEBHOOKS = 10
const TESTS_PER_MINUTE = 10
const RESENDS_PER_MINUTE = 60
/** How long a delivery is retried. */
const RETRIED_MS = DAY_MS
/** How long the previous secret signs beside a new one. */
const OVERLAP_MS = DAY_MS
const SECRET_BYTES = 32

/** Where an endpoint's secrets are sealed. */
export function webhookContext(webhook: WebhookId, column: 'secret' | 'previous_secret'): SealContext {
  return { table: 'webhooks', row: webhook, column }
}

/** An owner's endpoints: settings, secrets, the log of deliveries (spec-answers 11). */
export class Webhooks {
  private readonly store: WebhookStore
  private readonly sealing: Sealing
  private readonly clock: Clock
  private readonly allowsPrivate: boolean
  private readonly mutex = new KeyedMutex()
  private readonly tests = new MinuteBrake(TESTS_PER_MINUTE)
  private readonly resends = new MinuteBrake(RESENDS_PER_MINUTE)

  /** `allowsPrivate`: receivers may be private addresses, and need no https. */
  constructor(parts: { store: WebhookStore; sealing: Sealing; clock: Clock; allowsPrivate: boolean }) {
    this.store = parts.store
    this.sealing = parts.sealing
    this.clock = parts.clock
    this.allowsPrivate = parts.allowsPrivate
  }

  list(account: AccountId): Promise<readonly Webhook[]> {
    return this.store.of(account)
  }

  /** The secret is returned here and never again. */
  create(owner: WebhookOwner, form: WebhookForm): Outcome<{ webhook: Webhook; secret: string }> {
    return this.mutex.take(owner.accountId, async () => {
      const broken = this.broken(owner, form)
      if (broken) return err(broken)
      if ((await this.store.of(owner.accountId)).length >= MAX_WEBHOOKS)
        return err(failure('limit_reached', `An account can have ${MAX_WEBHOOKS} webhooks. Delete one first.`))
      const createdAt = this.clock.now()
      const id = makeId('hook', createdAt)
      const secret = newSecret()
      const webhook: Webhook = {
        ...{ id, accountId: owner.accountId, url: form.url, events: [...new Set(form.events)], status: 'active' },
        secret: this.sealing.seal(secret, webhookContext(id, 'secret')),
        ...{ previousSecret: null, previousUntil: null, failingSince: null, createdAt },
        app: owner.app ?? null,
      }
      await this.store.create(webhook, this.audit(owner, 'webhook.create', webhook))
      return ok({ webhook, secret })
    })
  }

  change(owner: WebhookOwner, id: string, form: Partial<WebhookForm & Pick<Webhook, 'status'>>): Outcome<Webhook> {
    return this.changing(owner, id, async (webhook) => {
      const broken = this.broken(owner, { url: form.url ?? webhook.url, events: form.events ?? webhook.events })
      if (broken) return err(broken)
      const isResumed = form.status === 'active' && webhook.status === 'paused'
      // Whoever chooses where events go answers for it; so does who resumes what a disconnected app left.
      const isTaken = (form.url ?? webhook.url) !== webhook.url || (isResumed && webhook.app?.disconnectedAt != null)
      const change = {
        ...{ url: webhook.url, ...form },
        ...(isResumed && { failingSince: null }),
        ...(isTaken && { app: owner.app ?? null }),
      }
      const changed: Webhook = { ...webhook, ...change }
      await this.store.update(webhook.id, change, this.audit(owner, 'webhook.change', changed, webhook))
      return ok(changed)
    })
  }

  remove(owner: WebhookOwner, id: string): Outcome<Webhook> {
    return this.changing(owner, id, async (webhook) => {
      await this.store.remove(webhook.id, this.audit(owner, 'webhook.delete', webhook))
      return ok(webhook)
    })
  }

  /** Pauses what an app made that gave its access back. */
  pauseOfApp(holder: { readonly userId: string; readonly clientId: string }): Promise<void> {
    return this.store.pauseOfApp(holder)
  }

  /** A new secret. The one before signs beside it for a day, so that the receiver can change over without a gap. */
  rotate(owner: WebhookOwner, id: string): Outcome<{ webhook: Webhook; secret: string }> {
    return this.changing(owner, id, async (webhook) => {
      const secret = newSecret()
      const previous = this.previousOf(webhook)
      const change = {
        secret: this.sealing.seal(secret, webhookContext(webhook.id, 'secret')),
        previousSecret: previous,
        previousUntil: previous === null ? null : this.clock.now() + OVERLAP_MS,
      }
      const rotated: Webhook = { ...webhook, ...change }
      await this.store.update(webhook.id, change, this.audit(owner, 'webhook.rotate', rotated))
      return ok({ webhook: rotated, secret })
    })
  }

  /** The secret as the previous one; null if no key opens it, so that a rotation is the way out. */
  private previousOf({ id, secret }: Webhook): string | null {
    try {
      return this.sealing.seal(
        this.sealing.open(secret, webhookContext(id, 'secret')).text,
        webhookContext(id, 'previous_secret'),
      )
    } catch {
      return null
    }
  }

  /** Sends an event without content, to try the endpoint. */
  sendTest(owner: WebhookOwner, id: string): Outcome<Delivery> {
    return this.changing(owner, id, async (webhook) => {
      const now = this.clock.now()
      const paused = refuseIfPaused(webhook)
      if (paused) return err(paused)
      if (!this.tests.take(owner.accountId, now)) return err(tooMany(`send ${TESTS_PER_MINUTE} test events`))
      const body = JSON.stringify({ type: TEST_EVENT, timestamp: isoTime(now), data: { webhook_id: webhook.id } })
      const eventId = makeId('evt', now)
      const delivery = newDelivery({ webhookId: webhook.id, eventId, type: TEST_EVENT, body }, now)
      await this.store.addDelivery(delivery)
      return ok(delivery)
    })
  }

  async deliveries(
    account: AccountId,
    id: string,
    limit: number,
    after: DeliveryId | null,
  ): Outcome<readonly Delivery[]> {
    const webhook = await this.store.byId(account, id as WebhookId) // any text: an unknown id finds nothing
    return webhook ? ok(await this.store.deliveries(webhook.id, limit, after)) : err(unknownWebhook())
  }

  /** Sends a delivery again, with the same event id and body. */
  resend(owner: WebhookOwner, id: string, deliveryId: string): Outcome<Delivery> {
    return this.changing(owner, id, async (webhook) => {
      const paused = refuseIfPaused(webhook)
      if (paused) return err(paused)
      const delivery = await this.store.delivery(webhook.id, deliveryId as DeliveryId) // as above
      if (!delivery) return err(failure('resource_not_found', 'This delivery does not exist.'))
      const now = this.clock.now()
      if (!this.resends.take(owner.accountId, now)) return err(tooMany(`resend ${RESENDS_PER_MINUTE} deliveries`))
      const expiresAt = now + RETRIED_MS
      await this.store.retry(delivery.id, now, expiresAt)
      return ok({ ...delivery, state: 'pending', nextAt: now, expiresAt, error: null })
    })
  }

  private changing<T>(
    owner: WebhookOwner,
    id: string,
    change: (webhook: Webhook) => Promise<Result<T, Failure>>,
  ): Outcome<T> {
    return this.mutex.take(owner.accountId, async () => {
      const webhook = await this.store.byId(owner.accountId, id as WebhookId) // any text: an unknown id finds nothing
      return webhook ? change(webhook) : err(unknownWebhook())
    })
  }

  private broken({ account }: WebhookOwner, { url: text, events }: WebhookForm): Failure | null {
    const url = URL.parse(text)
    const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === ''
    const protocols = this.allowsPrivate ? ['https:', 'http:'] : ['https:']
    if (!isPlain || !protocols.includes(url.protocol))
      return failure('invalid_parameter', 'The URL must be an https URL without user name and fragment.', {
        param: 'url',
      })
    const reserved = account.operator ? undefined : events.find((event) => OPERATOR_EVENTS.some((own) => own === event))
    if (reserved)
      return failure('invalid_parameter', `events must not contain ${reserved}: only operators receive it`, {
        param: 'events',
      })
    return null
  }

  private audit({ actor, accountId }: WebhookOwner, action: AuditAction, webhook: Webhook, previous?: Webhook) {
    const before = previous ? recorded(previous) : null
    return auditEntry({ at: this.clock.now(), actor, accountId, action, detail: recorded(webhook), before })
  }
}

/** For the audit log. Only the host: the path of some receivers is a secret. */
function recorded({ id, url, events, status }: Webhook) {
  return { id, host: URL.parse(url)?.host ?? '', events, status }
}

export function newDelivery(event: Pick<Delivery, 'webhookId' | 'eventId' | 'type' | 'body'>, now: number): Delivery {
  return {
    id: makeId('dlv', now),
    ...event,
    ...{ state: 'pending', attempts: 0, createdAt: now, nextAt: now, expiresAt: now + RETRIED_MS, lastAt: null },
    ...{ durationMs: null, responseStatus: null, responseBody: null, error: null },
  }
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}

function refuseIfPaused({ status }: Webhook): Failure | null {
  return status === 'paused' ? failure('invalid_state', 'This webhook is paused. Set it to active first.') : null
}

function tooMany(what: string): Failure {
  return failure('rate_limit_exceeded', `You can ${what} a minute. Try again later.`, {
    limitSource: 'account',
    retryAfterSeconds: MINUTE_MS / 1000,
  })
}

function unknownWebhook(): Failure {
  return failure('resource_not_found', 'This webhook does not exist.')
}
