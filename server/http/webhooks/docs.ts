import { BODY_FAILURES } from '../openapi/body-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import {
  DeliveryPage,
  NewWebhook,
  NoticeMailForm,
  NoticeMailSettings,
  NoticePage,
  OneDelivery,
  OneWebhook,
  ReadNotices,
  UnreadNotices,
  WebhookChange,
  WebhookCode,
  WebhookList,
  WebhookWithSecret,
} from './record'

const RECEIVER = 'https://example.com/webhooks/gateway'
const ID = { id: { description: 'Id of one of your webhooks.', example: 'hook_01a1fdfa942070018c603d2632ddc21b' } }
const DELIVERY_ID = {
  delivery: { description: 'Id of one of its deliveries.', example: 'dlv_01a1fdfa942070018c603d2632ddc21c' },
}

const COMMON = { tag: 'Events' } as const
const ONE = {
  200: { description: 'The webhook.', schema: OneWebhook },
} as const
const WITH_SECRET = {
  201: { description: 'The webhook and its secret.', schema: WebhookWithSecret },
} as const
const QUEUED = {
  202: { description: 'The queued delivery.', schema: OneDelivery },
} as const
const MAIL = {
  200: { description: 'The mailed notices.', schema: NoticeMailSettings },
} as const

export const WEBHOOK_DOCS = {
  list: {
    ...COMMON,
    id: 'listWebhooks',
    summary: 'List webhooks',
    description: 'Your endpoints for events, newest first.',
    answers: { 200: { description: 'All webhooks.', schema: WebhookList } },
    failures: [],
  },
  create: {
    ...COMMON,
    id: 'createWebhook',
    summary: 'Create a webhook',
    description:
      'Creates an endpoint that receives events as signed requests (Standard Webhooks). This response contains its secret, which is never shown again. The URL is sent one event, `webhook.confirm`, with a code; events follow once the code is entered or answered. An account can have 10, and send 30 codes a day.',
    body: requestBody('Where events are sent, and which.', NewWebhook, {
      some: { url: RECEIVER, events: ['key.exhausted', 'balance.low'] },
      all: { url: RECEIVER },
    }),
    answers: WITH_SECRET,
    failures: ['missing_parameter', 'limit_reached', 'rate_limit_exceeded', ...BODY_FAILURES],
  },
  change: {
    ...COMMON,
    id: 'changeWebhook',
    summary: 'Change a webhook',
    description:
      'Changes what you send and leaves the rest. Resumes one that was paused because it failed. A new URL has to be confirmed by its code.',
    ids: ID,
    body: requestBody('The changes.', WebhookChange, { resume: { status: 'active' }, events: { events: [] } }),
    answers: ONE,
    failures: [
      ...(['resource_not_found', 'rate_limit_exceeded', ...BODY_FAILURES] as const),
      ...(['recent_sign_in_required', 'second_factor_required'] as const),
    ],
  },
  remove: {
    ...COMMON,
    id: 'deleteWebhook',
    summary: 'Delete a webhook',
    description: 'Deletes the webhook and its log. Waiting deliveries are not sent.',
    ids: ID,
    answers: ONE,
    failures: ['resource_not_found'],
  },
  rotate: {
    ...COMMON,
    id: 'rotateWebhookSecret',
    summary: 'Rotate the secret of a webhook',
    description: 'Makes a new secret, which is shown once. The previous one signs as well for 24 hours.',
    ids: ID,
    answers: WITH_SECRET,
    failures: ['resource_not_found'],
  },
  confirm: {
    ...COMMON,
    id: 'confirmWebhook',
    summary: 'Confirm a webhook',
    description:
      'Enters the code that `webhook.confirm` took to the URL. Until then no event is sent to it. A code works for 24 hours and can be tried 5 times.',
    ids: ID,
    body: requestBody('The code.', WebhookCode, { code: { code: '7K2M9QXA' } }),
    answers: ONE,
    failures: ['resource_not_found', 'invalid_state', 'missing_parameter', ...BODY_FAILURES],
  },
  code: {
    ...COMMON,
    id: 'sendWebhookCode',
    summary: 'Send a new code',
    description:
      'Sends a new code to the URL of an unconfirmed webhook, at most 5 times a day for a host. Older codes no longer work.',
    ids: ID,
    answers: QUEUED,
    failures: ['resource_not_found', 'invalid_state', 'rate_limit_exceeded'],
  },
  test: {
    ...COMMON,
    id: 'testWebhook',
    summary: 'Send a test event',
    description:
      'Sends `webhook.test` to the endpoint, at most 10 times a minute for the account. A success resumes a webhook that was paused because it failed.',
    ids: ID,
    answers: QUEUED,
    failures: ['resource_not_found', 'invalid_state', 'rate_limit_exceeded'],
  },
  deliveries: {
    ...COMMON,
    id: 'listWebhookDeliveries',
    summary: 'List the deliveries of a webhook',
    description: 'Deliveries to the endpoint with its answers, newest first.',
    ids: ID,
    answers: { 200: { description: 'A page of deliveries.', schema: DeliveryPage } },
    failures: ['invalid_parameter', 'resource_not_found'],
  },
  resend: {
    ...COMMON,
    id: 'resendWebhookDelivery',
    summary: 'Send a delivery again',
    description: 'Sends the delivery again, with the same `webhook-id` and body. At most 60 a minute.',
    ids: { ...ID, ...DELIVERY_ID },
    answers: QUEUED,
    failures: ['resource_not_found', 'invalid_state', 'rate_limit_exceeded'],
  },
} as const satisfies Record<string, EndpointDocs>

export const NOTICE_DOCS = {
  list: {
    ...COMMON,
    id: 'listNotices',
    summary: 'List notices',
    description: 'The events of your account, newest first: the same that webhooks receive.',
    answers: { 200: { description: 'A page of notices.', schema: NoticePage } },
    failures: ['invalid_parameter'],
  },
  read: {
    ...COMMON,
    id: 'markNoticesRead',
    summary: 'Mark notices as read',
    description: 'Marks a notice and all older ones as read; all of them, without a body.',
    body: {
      description: 'The newest notice that was read.',
      schema: ReadNotices,
      required: false,
      examples: { all: {} },
    },
    answers: { 200: { description: 'The unread notices.', schema: UnreadNotices } },
    failures: ['resource_not_found', ...BODY_FAILURES],
  },
  mail: {
    ...COMMON,
    id: 'getNoticeMail',
    summary: 'The mailed notices',
    description:
      'The kinds of notices that are mailed to you, and whether a weekly summary is, where the gateway sends mail.',
    answers: MAIL,
    failures: [],
  },
  changeMail: {
    ...COMMON,
    id: 'changeNoticeMail',
    summary: 'Choose which notices are mailed',
    description: 'Changes what you send and leaves the rest. An empty list of kinds ends the mails of notices.',
    body: requestBody('The notices to mail.', NoticeMailForm, {
      some: { kinds: ['key.exhausted', 'balance.low'] },
      weekly: { weekly_summary: true },
    }),
    answers: MAIL,
    failures: [...BODY_FAILURES],
  },
} as const satisfies Record<string, EndpointDocs>
