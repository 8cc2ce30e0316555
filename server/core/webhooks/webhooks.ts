import { randomBytes } from 'node:crypto'
import { type Actor, type AuditAction, auditEntry } from '../audit'
import { type Clock, DAY_MS, isoTime, MINUTE_MS } from '../clock'
import { type Failure, failure } from '../failure'
import { type AccountId, type DeliveryId, makeId, type WebhookId } from '../ids'
import { KeyedMutex } from '../keyed-mutex'
import { err, ok, type Result } from '../result'
import type { SealContext, Sealing } from '../sealing'
import { Brake } from './brake'
import { CONFIRM_EVENT, type EventType, OPERATOR_EVENTS, TEST_EVENT } from './event'
import { type Delivery, hostOf, statusOf, type Webhook, type WebhookApp, type WebhookStore } from './webhook'
import { HIDDEN_CODE, type WebhookCodes } from './webhook-codes'

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
/** Codes that an account sends, to new URLs and on request. */
const CODES_PER_DAY = 30
/** Codes that an account asks for again, for each host. */
const REPEATS_PER_DAY = 5
const TRIES_OF_A_CODE = 5
/** How long a delivery is retried. */
const RETRIED_MS = DAY_MS
/** How long the previous secret signs as well as a new one. */
const OVERLAP_MS = DAY_MS
const SECRET_BYTES = 32
const CODE = { param: 'code' } as const
const CODE_MESSAGE =
  'To receive events, answer with the code alone as the body, or enter it in the dashboard or with "gateway webhooks confirm". Nothing else is sent here before. If you do not know this gateway, ignore this.'

/** Where an endpoint's secrets are sealed. */
export function webhookContext(webhook: WebhookId, column: 'secret' | 'previous_secret'): SealContext {
  return { table: 'webhooks', row: webhook, column }
}

interface WebhooksParts {
  readonly store: WebhookStore
  readonly sealing: Sealing
  readonly clock: Clock
  readonly codes: WebhookCodes
  readonly allowsPrivate: boolean
}

/** An owner's endpoints: settings, secrets, the log of deliveries (spec D11). */
export class Webhooks {
  private readonly parts: WebhooksParts
  private readonly mutex = new KeyedMutex()
  private readonly tests = new Brake(TESTS_PER_MINUTE)
  private readonly resends = new Brake(RESENDS_PER_MINUTE)
  private readonly sentCodes = new Brake(CODES_PER_DAY, DAY_MS)
  private readonly repeatedCodes = new Brake(REPEATS_PER_DAY, DAY_MS)

  /** `allowsPrivate`: receivers may be private addresses, and need no https. */
  constructor(parts: WebhooksParts) {
    this.parts = parts
  }

  list(account: AccountId): Promise<readonly Webhook[]> {
    return this.parts.store.of(account)
  }

  /** The secret is returned here and never again. The endpoint is sent a code, and events once the code came back. */
  create(owner: WebhookOwner, form: WebhookForm): Outcome<{ webhook: Webhook; secret: string }> {
    return this.mutex.take(owner.accountId, async () => {
      const broken = this.broken(owner, form)
      if (broken) return err(broken)
      if ((await this.parts.store.of(owner.accountId)).length >= MAX_WEBHOOKS)
        return err(failure('limit_reached', `An account can have ${MAX_WEBHOOKS} webhooks. Delete one first.`))
      const createdAt = this.parts.clock.now()
      if (!this.sentCodes.take(owner.accountId, createdAt)) return err(tooManyCodes())
      const id = makeId('hook', createdAt)
      const secret = newSecret()
      const webhook: Webhook = {
        id,
        accountId: owner.accountId,
        url: form.url,
        events: [...new Set(form.events)],
        status: 'active',
        secret: this.parts.sealing.seal(secret, webhookContext(id, 'secret')),
        previousSecret: null,
        previousUntil: null,
        failingSince: null,
        createdAt,
        confirmedAt: null,
        codeTries: 0,
        dropped: 0,
        app: owner.app ?? null,
      }
      await this.parts.store.create(webhook, this.audit(owner, 'webhook.create', webhook))
      await this.parts.store.addCode(codeDelivery(webhook, createdAt))
      return ok({ webhook, secret })
    })
  }

  /** A new URL has to be confirmed; what waited for the old one is not sent. */
  change(owner: WebhookOwner, id: string, form: Partial<WebhookForm & Pick<Webhook, 'status'>>): Outcome<Webhook> {
    return this.changing(owner, id, async (webhook) => {
      const broken = this.broken(owner, { url: form.url ?? webhook.url, events: form.events ?? webhook.events })
      if (broken) return err(broken)
      const isResumed = form.status === 'active' && webhook.status === 'paused'
      const isMoved = (form.url ?? webhook.url) !== webhook.url
      // The one who chooses the URL, or resumes an endpoint of a disconnected app, owns it.
      const isTaken = isMoved || (isResumed && webhook.app?.disconnectedAt != null)
      const now = this.parts.clock.now()
      if (isMoved && !this.sentCodes.take(owner.accountId, now)) return err(tooManyCodes())
      const change = {
        url: webhook.url,
        ...form,
        // The reason of the pause: a test resumes only endpoints that were paused because they failed.
        ...((isMoved || form.status !== undefined) && { failingSince: null }),
        ...(isMoved && { confirmedAt: null }),
        ...(isTaken && { app: owner.app ?? null }),
      }
      const changed: Webhook = { ...webhook, ...change }
      await this.parts.store.update(webhook.id, change, this.audit(owner, 'webhook.change', changed, webhook))
      if (isMoved) await this.parts.store.addCode(codeDelivery(changed, now))
      return ok(changed)
    })
  }

  remove(owner: WebhookOwner, id: string): Outcome<Webhook> {
    return this.changing(owner, id, async (webhook) => {
      await this.parts.store.remove(webhook.id, this.audit(owner, 'webhook.delete', webhook))
      return ok(webhook)
    })
  }

  /** Pauses what an app made that gave its access back. */
  pauseOfApp(holder: { readonly userId: string; readonly clientId: string }): Promise<void> {
    return this.parts.store.pauseOfApp(holder)
  }

  /** A new secret. The previous one signs as well for a day, so that the receiver can change over without a gap. */
  rotate(owner: WebhookOwner, id: string): Outcome<{ webhook: Webhook; secret: string }> {
    return this.changing(owner, id, async (webhook) => {
      const secret = newSecret()
      const previous = this.previousOf(webhook)
      const change = {
        secret: this.parts.sealing.seal(secret, webhookContext(webhook.id, 'secret')),
        previousSecret: previous,
        previousUntil: previous === null ? null : this.parts.clock.now() + OVERLAP_MS,
      }
      const rotated: Webhook = { ...webhook, ...change }
      await this.parts.store.update(webhook.id, change, this.audit(owner, 'webhook.rotate', rotated))
      return ok({ webhook: rotated, secret })
    })
  }

  /** The secret as the previous one; null if no key opens it, so that a rotation is the way out. */
  private previousOf({ id, secret }: Webhook): string | null {
    try {
      return this.parts.sealing.seal(
        this.parts.sealing.open(secret, webhookContext(id, 'secret')).text,
        webhookContext(id, 'previous_secret'),
      )
    } catch {
      return null
    }
  }

  /** Sends an event without content, to try the endpoint. A success resumes one that was paused because it failed. */
  sendTest(owner: WebhookOwner, id: string): Outcome<Delivery> {
    return this.changing(owner, id, async (webhook) => {
      const now = this.parts.clock.now()
      const refused = webhook.failingSince === null || webhook.confirmedAt === null ? refuseUnlessActive(webhook) : null
      if (refused) return err(refused)
      if (!this.tests.take(owner.accountId, now)) return err(tooMany(`send ${TESTS_PER_MINUTE} test events`))
      const delivery = ownDelivery(TEST_EVENT, { webhook_id: webhook.id }, webhook.id, now)
      await this.parts.store.addDelivery(delivery)
      return ok(delivery)
    })
  }

  /** Sends a new code to an endpoint that waits for its confirmation. The one before no longer works. */
  sendCode(owner: WebhookOwner, id: string): Outcome<Delivery> {
    return this.changing(owner, id, async (webhook) => {
      const now = this.parts.clock.now()
      if (statusOf(webhook) !== 'unconfirmed')
        return err(failure('invalid_state', `This webhook is ${statusOf(webhook)}: it does not wait for a code.`))
      const isFree = this.sentCodes.isFree(owner.accountId, now)
      if (!isFree || !this.repeatedCodes.take(`${owner.accountId} ${hostOf(webhook.url)}`, now))
        return err(tooManyCodes())
      this.sentCodes.take(owner.accountId, now)
      const delivery = codeDelivery(webhook, now)
      await this.parts.store.addCode(delivery)
      return ok(delivery)
    })
  }

  /** Confirms an endpoint by the code that was sent to it. Idempotent: a confirmed one stays as it is. */
  confirm(owner: WebhookOwner, id: string, code: string): Outcome<Webhook> {
    return this.changing(owner, id, async (webhook) => {
      const now = this.parts.clock.now()
      if (webhook.confirmedAt !== null) return ok(webhook)
      const sent =
        (await this.parts.store.tryCode(webhook.id, TRIES_OF_A_CODE)) && (await this.parts.store.lastCode(webhook.id))
      if (!sent || now >= sent.createdAt + RETRIED_MS)
        return err(failure('invalid_state', 'The code has expired or was tried too often. Send a new one.'))
      if (!this.parts.codes.matches(code, webhook, sent.id))
        return err(failure('invalid_parameter', 'This is not the newest code that was sent to the endpoint.', CODE))
      const confirmed: Webhook = { ...webhook, confirmedAt: now }
      await this.parts.store.confirm(webhook, now, this.audit(owner, 'webhook.confirm', confirmed))
      return ok(confirmed)
    })
  }

  async deliveries(
    account: AccountId,
    id: string,
    limit: number,
    after: DeliveryId | null,
  ): Outcome<readonly Delivery[]> {
    const webhook = await this.parts.store.byId(account, id as WebhookId) // any text: an unknown id finds nothing
    return webhook ? ok(await this.parts.store.deliveries(webhook.id, limit, after)) : err(unknownWebhook())
  }

  /** Sends a delivery again, with the same event id and body. */
  resend(owner: WebhookOwner, id: string, deliveryId: string): Outcome<Delivery> {
    return this.changing(owner, id, async (webhook) => {
      const refused = refuseUnlessActive(webhook)
      if (refused) return err(refused)
      const delivery = await this.parts.store.delivery(webhook.id, deliveryId as DeliveryId) // as above
      if (!delivery) return err(failure('resource_not_found', 'This delivery does not exist.'))
      if (delivery.type === CONFIRM_EVENT) return err(failure('invalid_state', 'A code cannot be sent again.'))
      const now = this.parts.clock.now()
      if (!this.resends.take(owner.accountId, now)) return err(tooMany(`resend ${RESENDS_PER_MINUTE} deliveries`))
      const expiresAt = now + RETRIED_MS
      await this.parts.store.retry(delivery.id, now, expiresAt)
      return ok({ ...delivery, state: 'pending', nextAt: now, expiresAt, error: null })
    })
  }

  private changing<T>(
    owner: WebhookOwner,
    id: string,
    change: (webhook: Webhook) => Promise<Result<T, Failure>>,
  ): Outcome<T> {
    return this.mutex.take(owner.accountId, async () => {
      const webhook = await this.parts.store.byId(owner.accountId, id as WebhookId) // any text: an unknown id finds nothing
      return webhook ? change(webhook) : err(unknownWebhook())
    })
  }

  private broken({ account }: WebhookOwner, { url: text, events }: WebhookForm): Failure | null {
    const url = URL.parse(text)
    const isPlain = url !== null && url.username === '' && url.password === '' && url.hash === ''
    const protocols = this.parts.allowsPrivate ? ['https:', 'http:'] : ['https:']
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
    return auditEntry({ at: this.parts.clock.now(), actor, accountId, action, detail: recorded(webhook), before })
  }
}

/** For the audit log. Only the host: the path of some receivers is a secret. */
export function recorded(webhook: Webhook) {
  const { id, url, events } = webhook
  return { id, host: URL.parse(url)?.host ?? '', events, status: statusOf(webhook) }
}

export function newDelivery(event: Pick<Delivery, 'webhookId' | 'eventId' | 'type' | 'body'>, now: number): Delivery {
  return {
    id: makeId('dlv', now),
    ...event,
    state: 'pending',
    attempts: 0,
    createdAt: now,
    nextAt: now,
    expiresAt: now + RETRIED_MS,
    lastAt: null,
    durationMs: null,
    responseStatus: null,
    responseBody: null,
    error: null,
  }
}

/** An event of one endpoint alone. */
function ownDelivery(
  type: string,
  data: Readonly<Record<string, string>>,
  webhookId: WebhookId,
  now: number,
): Delivery {
  const body = JSON.stringify({ type, timestamp: isoTime(now), data })
  return newDelivery({ webhookId, eventId: makeId('evt', now), type, body }, now)
}

/** The code itself is put in when it is sent. */
function codeDelivery({ id }: Webhook, now: number): Delivery {
  return ownDelivery(CONFIRM_EVENT, { webhook_id: id, code: HIDDEN_CODE, message: CODE_MESSAGE }, id, now)
}

function newSecret(): string {
  return `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`
}

function refuseUnlessActive(webhook: Webhook): Failure | null {
  const status = statusOf(webhook)
  if (status === 'active') return null
  const next = status === 'paused' ? 'Set it to active first.' : 'Enter the code that was sent to it first.'
  return failure('invalid_state', `This webhook is ${status}. ${next}`)
}

function tooMany(what: string, per: 'minute' | 'day' = 'minute'): Failure {
  return failure('rate_limit_exceeded', `You can ${what} a ${per}. Try again later.`, {
    limitSource: 'account',
    retryAfterSeconds: (per === 'day' ? DAY_MS : MINUTE_MS) / 1000,
  })
}

function tooManyCodes(): Failure {
  return tooMany(`send ${CODES_PER_DAY} codes to new URLs, and ${REPEATS_PER_DAY} again to each host,`, 'day')
}

function unknownWebhook(): Failure {
  return failure('resource_not_found', 'This webhook does not exist.')
}
