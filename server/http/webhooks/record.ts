import type { Static } from '@sinclair/typebox'
import { isoTime } from '../../core/clock'
import { OPERATOR_EVENTS, OWNER_EVENTS } from '../../core/webhooks/event'
import type { Notice } from '../../core/webhooks/notices'
import { type Delivery, statusOf, type Webhook } from '../../core/webhooks/webhook'
import {
  anyObject,
  form,
  identifier,
  instant,
  listOf,
  nextCursor,
  oneOf,
  orNull,
  partialForm,
  record,
  text,
  whole,
  withExample,
  withRule,
  yesOrNo,
} from '../openapi/json-schema'

const EVENT_TYPES = [...OWNER_EVENTS, ...OPERATOR_EVENTS]
const MAX_URL = 2000

const WEBHOOK_SETTINGS = {
  url: text('Where events are sent: an https URL.', { minLength: 1, maxLength: MAX_URL }),
  events: eventTypes('The events to receive. Empty for all.'),
}

export const NewWebhook = form('A new webhook.', WEBHOOK_SETTINGS, ['events'])
export type NewWebhook = Static<typeof NewWebhook>
export const WebhookChange = partialForm('What to change. The rest stays.', {
  ...WEBHOOK_SETTINGS,
  status: oneOf(['active', 'paused'], 'Whether events are sent.'),
})
export type WebhookChange = Static<typeof WebhookChange>
export const WebhookCode = form('The code of an endpoint.', {
  code: text('The code that was sent to the URL.', { minLength: 1, maxLength: 20 }),
})
export const ReadNotices = partialForm('Which notices were read.', {
  through: text('The id of the newest notice that was read. All, if absent.', { maxLength: 200 }),
})

const MAIL_CHOICE = {
  kinds: eventTypes('The notices that are mailed.'),
  weekly_summary: yesOrNo('Whether a summary of each week with calls is mailed: spend, keys, operations and balance.'),
}
export const NoticeMailForm = partialForm('What to mail. The rest stays.', MAIL_CHOICE)
export const NoticeMailSettings = record('The mailed notices.', {
  ...MAIL_CHOICE,
  sends_mail: yesOrNo('Whether the gateway sends email.'),
})
export type NoticeMailSettings = Static<typeof NoticeMailSettings>

export const WebhookRecord = record('An endpoint that receives events.', {
  id: identifier('hook', 'Id of the webhook.'),
  ...WEBHOOK_SETTINGS,
  status: oneOf(
    ['unconfirmed', 'active', 'paused'],
    'Whether events are sent. `unconfirmed`: only a code was sent to the URL, and no events are until it is entered.',
  ),
  failing_since: orNull(instant('When it began to fail; null while it works.')),
  previous_secret_until: orNull(instant('Until when the secret before the last rotation signs too.')),
  dropped_events: whole('How many events were dropped because too many waited.'),
  created_at: instant('When it was created.'),
  created_by: orNull(
    record(
      'The app that made it or last chose its URL; null for yourself. It is paused when this app is disconnected.',
      {
        id: text('Id of the connection, as in usage.'),
        name: text('What the app calls itself.'),
      },
    ),
  ),
})
export type WebhookRecord = Static<typeof WebhookRecord>

export const OneWebhook = record('The webhook.', { webhook: WebhookRecord })
export type OneWebhook = Static<typeof OneWebhook>
export const WebhookWithSecret = record('The webhook and its secret, which is never shown again.', {
  webhook: WebhookRecord,
  secret: withExample(`whsec_${'3o'.padEnd(43, 'x')}=`, text('Verifies signatures: `whsec_` and base64.')),
})
export type WebhookWithSecret = Static<typeof WebhookWithSecret>
export const WebhookList = record('All webhooks, newest first.', { webhooks: listOf(WebhookRecord, 'The webhooks.') })
export type WebhookList = Static<typeof WebhookList>

const DeliveryRecord = record('One event for one webhook.', {
  id: identifier('dlv', 'Id of the delivery.'),
  event_id: identifier('evt', 'Id of the event: the header `webhook-id`.'),
  type: text('The type of the event.'),
  status: oneOf(['pending', 'delivered', 'failed'], '`pending`: not sent yet, or it will be retried.'),
  attempts: whole('How often it was sent.'),
  body: text('What was sent.'),
  response_status: orNull(whole('The status of the last answer.')),
  response_body: orNull(text('The first 4 KB of the last answer.')),
  error: orNull(text('Why the last attempt failed.')),
  duration_ms: orNull(whole('How long the last attempt took.')),
  created_at: instant('When the event was queued.'),
  last_attempt_at: orNull(instant('When it was last sent.')),
  next_attempt_at: orNull(instant('When it is sent next; null unless it is pending.')),
})
export type DeliveryRecord = Static<typeof DeliveryRecord>

export const OneDelivery = record('The delivery.', { delivery: DeliveryRecord })
export type OneDelivery = Static<typeof OneDelivery>
export const DeliveryPage = record('A page of deliveries, newest first.', {
  deliveries: listOf(DeliveryRecord, 'The deliveries.'),
  next_cursor: nextCursor(),
})
export type DeliveryPage = Static<typeof DeliveryPage>

export const NoticePage = record('A page of notices, newest first.', {
  notices: listOf(
    record('What happened.', {
      id: identifier('evt', 'Id of the event.'),
      type: text('The type of the event.'),
      timestamp: instant('When it happened.'),
      data: anyObject('As in the webhook.'),
      read: yesOrNo('Whether it was marked as read.'),
    }),
    'The notices.',
  ),
  unread: whole('How many notices are unread.'),
  next_cursor: nextCursor(),
})
export type NoticePage = Static<typeof NoticePage>
export const UnreadNotices = record('What is unread.', { unread: whole('How many notices are unread.') })
export type UnreadNotices = Static<typeof UnreadNotices>

export function webhookRecord(webhook: Webhook, now: number): WebhookRecord {
  const { id, url, events, failingSince, previousUntil, dropped, createdAt, app } = webhook
  const overlaps = previousUntil !== null && previousUntil > now
  return {
    id,
    url,
    events,
    status: statusOf(webhook),
    failing_since: failingSince === null ? null : isoTime(failingSince),
    previous_secret_until: overlaps ? isoTime(previousUntil) : null,
    dropped_events: dropped,
    created_at: isoTime(createdAt),
    created_by: app && { id: app.id, name: app.name },
  }
}

export function deliveryRecord(delivery: Delivery): DeliveryRecord {
  const { id, eventId, type, state, attempts, body, lastAt } = delivery
  return {
    id,
    event_id: eventId,
    type,
    status: state,
    attempts,
    body,
    response_status: delivery.responseStatus,
    response_body: delivery.responseBody,
    error: delivery.error,
    duration_ms: delivery.durationMs,
    created_at: isoTime(delivery.createdAt),
    last_attempt_at: lastAt === null ? null : isoTime(lastAt),
    next_attempt_at: state === 'pending' ? isoTime(delivery.nextAt) : null,
  }
}

export function noticeRecord({ id, type, at, data, isRead }: Notice): NoticePage['notices'][number] {
  return { id, type, timestamp: isoTime(at), data, read: isRead }
}

function eventTypes(description: string) {
  return withRule(
    `must be a list of at most ${EVENT_TYPES.length} event types, each one of ${EVENT_TYPES.join(', ')}`,
    listOf(oneOf(EVENT_TYPES, 'The type of an event.'), description, { maxItems: EVENT_TYPES.length }),
  )
}
