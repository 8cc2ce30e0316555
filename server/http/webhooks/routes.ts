import type { Elysia } from 'elysia'
import { auditEntry } from '../../core/audit'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { AccountId, DeliveryId } from '../../core/ids'
import { pageOf } from '../../core/page'
import type { NoticeMailStore } from '../../core/webhooks/notice-mails'
import type { NoticeStore } from '../../core/webhooks/notices'
import type { WebhookOwner, Webhooks } from '../../core/webhooks/webhooks'
import { appDocs } from '../account/app-docs'
import { callingApp } from '../middleware/caller/calling-app'
import { type Owner, type OwnerSessions, SIGNED_IN_TODAY } from '../middleware/caller/owner-session'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { readBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { documented } from '../openapi/documented'
import { declared, freeEndpoint, gatedReply } from '../routing/endpoint'
import { NOTICE_DOCS, WEBHOOK_DOCS } from './docs'
import {
  type DeliveryPage,
  deliveryRecord,
  NewWebhook,
  NoticeMailForm,
  type NoticeMailSettings,
  type NoticePage,
  noticeRecord,
  type OneDelivery,
  type OneWebhook,
  ReadNotices,
  type UnreadNotices,
  WebhookChange,
  type WebhookList,
  type WebhookWithSecret,
  webhookRecord,
} from './record'

export interface WebhookParts {
  readonly owners: OwnerSessions
  readonly webhooks: Webhooks
  readonly notices: NoticeStore
  readonly noticeMails: NoticeMailStore
  /** Whether this gateway can send email. */
  readonly sendsMail: boolean
  readonly now: () => number
}

const SCOPE = 'webhooks:write'
const APP_WEBHOOKS = freeEndpoint('webhooks', SCOPE, { appsOnly: true })

/** Owners' endpoints for events, and the log of what was sent to them (spec-answers 11). */
export function webhookRoutes(parts: WebhookParts) {
  return webhooksUnder('/api/webhooks', parts, (name, ...tables) => documented(WEBHOOK_DOCS[name], ...tables))
}

/** The same for apps with `webhooks:write`. Untyped for clients, like the other routes that the dashboard does not call. */
export function appWebhookRoutes(parts: Omit<WebhookParts, 'owners'>): Elysia {
  const owners = { owner: async (context: RequestContext) => appOwner(context) }
  const routes = routeGroup({ name: 'app-webhooks' })
    .mapResponse(gatedReply)
    .use(
      webhooksUnder('/v1/webhooks', { ...parts, owners }, (name, ...tables) =>
        declared(APP_WEBHOOKS, appDocs(WEBHOOK_DOCS[name], SCOPE), ...tables),
      ),
    )
  return routes as unknown as Elysia
}

/** The owner on whose behalf an app changes webhooks. Throws if the caller is not an app. */
function appOwner(context: RequestContext): WebhookOwner {
  const { account, grant, actor } = callingApp(
    context,
    'API keys cannot manage webhooks. Use an access token with webhooks:write, or the dashboard.',
  )
  return { accountId: account.id, account, app: grant, actor }
}

/** `within`: the maximum age of the sign-in. Ignored for apps, which act with their token. */
interface WebhookOwners {
  owner(context: RequestContext, within?: number): Promise<WebhookOwner>
}

/** The documentation of each route, in the owner's or the app's version. */
type MirroredDocs = (
  name: keyof typeof WEBHOOK_DOCS,
  ...tables: readonly ParameterTable[]
) => ReturnType<typeof documented>

function webhooksUnder<P extends string>(
  prefix: P,
  { owners, webhooks, now }: Omit<WebhookParts, 'owners'> & { readonly owners: WebhookOwners },
  docs: MirroredDocs,
) {
  return routeGroup({ name: `webhooks under ${prefix}`, prefix })
    .get(
      '',
      async ({ context }): Promise<WebhookList> => {
        const { accountId } = await owners.owner(context)
        return { webhooks: (await webhooks.list(accountId)).map((webhook) => webhookRecord(webhook, now())) }
      },
      docs('list'),
    )
    .post(
      '',
      async ({ context, set }): Promise<WebhookWithSecret> => {
        const owner = await owners.owner(context, SIGNED_IN_TODAY)
        const { url, events = [] } = await readBody(NewWebhook, context)
        const { webhook, secret } = taken(await webhooks.create(owner, { url, events }))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { webhook: webhookRecord(webhook, now()), secret }
      },
      { parse: 'none', ...docs('create') },
    )
    .patch(
      '/:id',
      async ({ context, params }): Promise<OneWebhook> => {
        const owner = await owners.owner(context)
        const change = await readBody(WebhookChange, context)
        // A stolen old session must not send an owner's events elsewhere.
        if (change.url !== undefined) await owners.owner(context, SIGNED_IN_TODAY)
        return { webhook: webhookRecord(taken(await webhooks.change(owner, params.id, change)), now()) }
      },
      { parse: 'none', ...docs('change') },
    )
    .delete(
      '/:id',
      async ({ context, params }): Promise<OneWebhook> => ({
        webhook: webhookRecord(taken(await webhooks.remove(await owners.owner(context), params.id)), now()),
      }),
      docs('remove'),
    )
    .post(
      '/:id/rotate',
      async ({ context, params, set }): Promise<WebhookWithSecret> => {
        const owner = await owners.owner(context, SIGNED_IN_TODAY)
        const { webhook, secret } = taken(await webhooks.rotate(owner, params.id))
        set.status = 201
        set.headers['cache-control'] = 'no-store'
        return { webhook: webhookRecord(webhook, now()), secret }
      },
      docs('rotate'),
    )
    .post(
      '/:id/test',
      async ({ context, params, set }): Promise<OneDelivery> => {
        const delivery = taken(await webhooks.sendTest(await owners.owner(context), params.id))
        set.status = 202
        return { delivery: deliveryRecord(delivery) }
      },
      docs('test'),
    )
    .get(
      '/:id/deliveries',
      async ({ context, params }): Promise<DeliveryPage> => {
        const { accountId } = await owners.owner(context)
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const after = (cursor ?? null) as DeliveryId | null // any text: ids are compared, not looked up
        const page = pageOf(taken(await webhooks.deliveries(accountId, params.id, limit + 1, after)), limit)
        return { deliveries: page.rows.map(deliveryRecord), next_cursor: page.next }
      },
      docs('deliveries', PAGE_QUERY),
    )
    .post(
      '/:id/deliveries/:delivery/resend',
      async ({ context, params, set }): Promise<OneDelivery> => {
        const delivery = taken(await webhooks.resend(await owners.owner(context), params.id, params.delivery))
        set.status = 202
        return { delivery: deliveryRecord(delivery) }
      },
      docs('resend'),
    )
}

/** The same events in the dashboard. */
export function noticeRoutes({ owners, notices, noticeMails, sendsMail, now }: WebhookParts) {
  const readerOf = ({ account }: Owner) => ({ id: account.id, operator: account.operator })
  const mailSettings = async (account: AccountId): Promise<NoticeMailSettings> => {
    const { kinds, weeklySummary } = await noticeMails.choiceOf(account)
    return { kinds: [...kinds], weekly_summary: weeklySummary, sends_mail: sendsMail }
  }
  return routeGroup({ name: 'notices', prefix: '/api/notices' })
    .get(
      '',
      async ({ context }): Promise<NoticePage> => {
        const reader = readerOf(await owners.owner(context))
        const { limit, cursor } = queryOf(PAGE_QUERY, context)
        const found = await notices.notices(reader, limit + 1, cursor ?? null)
        if (!found) throw refuseCursor(cursor ?? '')
        const page = pageOf(found, limit)
        return {
          notices: page.rows.map(noticeRecord),
          unread: await notices.unread(reader),
          next_cursor: page.next,
        }
      },
      documented(NOTICE_DOCS.list, PAGE_QUERY),
    )
    .post(
      '/read',
      async ({ context }): Promise<UnreadNotices> => {
        const reader = readerOf(await owners.owner(context))
        const { through } = await readBody(ReadNotices, context, {})
        if (!(await notices.markRead(reader, through ?? null))) throw notFound('This notice does not exist.')
        return { unread: await notices.unread(reader) }
      },
      { parse: 'none', ...documented(NOTICE_DOCS.read) },
    )
    .get(
      '/mail',
      async ({ context }): Promise<NoticeMailSettings> => {
        const { accountId } = await owners.owner(context)
        return mailSettings(accountId)
      },
      documented(NOTICE_DOCS.mail),
    )
    .patch(
      '/mail',
      async ({ context }): Promise<NoticeMailSettings> => {
        const { accountId, actor } = await owners.owner(context)
        const form = await readBody(NoticeMailForm, context)
        const audit = auditEntry({ at: now(), actor, accountId, action: 'notices.mail', detail: form })
        const { kinds, weekly_summary: weeklySummary } = form
        const choice = {
          ...(kinds && { kinds: [...new Set(kinds)] }),
          ...(weeklySummary !== undefined && { weeklySummary }),
        }
        await noticeMails.choose(accountId, choice, audit)
        return mailSettings(accountId)
      },
      { parse: 'none', ...documented(NOTICE_DOCS.changeMail) },
    )
}
