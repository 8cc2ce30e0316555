import type { Elysia } from 'elysia'
import { mayDo } from '../../core/accounts/roles'
import { auditEntry } from '../../core/audit'
import type { ParameterTable } from '../../core/catalog/parameters'
import type { AccountId, DeliveryId } from '../../core/ids'
import { pageOf } from '../../core/page'
import { OWNER_EVENTS, rightToEvent } from '../../core/webhooks/event'
import type { NoticeMailStore } from '../../core/webhooks/notice-mails'
import type { NoticeReader, NoticeStore } from '../../core/webhooks/notices'
import type { WebhookOwner, Webhooks } from '../../core/webhooks/webhooks'
import { appDocs } from '../account/app-docs'
import { callingApp } from '../middleware/caller/calling-app'
import type { Owner, OwnerSessions } from '../middleware/caller/owner-session'
import { type SeenCalls, seenKeys } from '../middleware/caller/seen-calls'
import { PAGE_QUERY, queryOf, refuseCursor } from '../middleware/input/list-query'
import { readBody } from '../middleware/input/validate-body'
import { type RequestContext, routeGroup } from '../middleware/request-context'
import { notFound, taken } from '../middleware/response/failures'
import { shownOnce } from '../middleware/response/shown-once'
import { documented, type Hook } from '../openapi/documented'
import { allowed, appsAccess, type Id, type MirroredAccess, ownersAccess, signedIn } from '../routing/api-access'
import { freeEndpoint } from '../routing/endpoint'
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
  WebhookCode,
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

/** Owners' endpoints for events, and the log of what was sent to them (spec D11). */
export function webhookRoutes(parts: WebhookParts) {
  const owners = ownersAccess(parts.owners, 'settings')
  return routeGroup({ name: 'webhooks', prefix: '/api/webhooks' }).use(
    mirroredRoutes('owners-webhooks', parts, owners, (name, ...tables) => documented(WEBHOOK_DOCS[name], ...tables)),
  )
}

/** The same for apps with `webhooks:write`. Untyped for clients, like the other routes that the dashboard does not call. */
export function appWebhookRoutes(parts: Omit<WebhookParts, 'owners'>): Elysia {
  const apps = appsAccess(APP_WEBHOOKS, appOwner)
  const routes = routeGroup({ name: 'app-webhooks', prefix: '/v1/webhooks' }).use(
    mirroredRoutes('apps-webhooks', parts, apps, (name, ...tables) =>
      documented(appDocs(WEBHOOK_DOCS[name], SCOPE), ...tables),
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

/** The documentation of each route, in the owner's or the app's version. */
type MirroredDocs = (name: keyof typeof WEBHOOK_DOCS, ...tables: readonly ParameterTable[]) => Hook

/** The routes of one way to call them, with its access and its documentation. */
export function mirroredRoutes(
  name: string,
  { webhooks, now }: Pick<WebhookParts, 'webhooks' | 'now'>,
  owners: MirroredAccess<WebhookOwner>,
  docs: MirroredDocs,
) {
  return routeGroup({ name })
    .get(
      '',
      ...allowed(
        owners.read,
        docs('list'),
        async ({ accountId }): Promise<WebhookList> => ({
          webhooks: (await webhooks.list(accountId)).map((webhook) => webhookRecord(webhook, now())),
        }),
      ),
    )
    .post(
      '',
      ...allowed(owners.recent, docs('create'), async ({ owner, context, set }): Promise<WebhookWithSecret> => {
        const { url, events = [] } = await readBody(NewWebhook, context)
        const { webhook, secret } = taken(await webhooks.create(owner, { url, events }))
        return shownOnce(set, { webhook: webhookRecord(webhook, now()), secret })
      }),
    )
    .patch(
      '/:id',
      ...allowed(owners.write, docs('change'), async ({ owner, context }, { id }: Id): Promise<OneWebhook> => {
        const change = await readBody(WebhookChange, context)
        // A stolen old session must not send an owner's events elsewhere.
        if (change.url !== undefined) await owners.recent.admit(context)
        return { webhook: webhookRecord(taken(await webhooks.change(owner, id, change)), now()) }
      }),
    )
    .delete(
      '/:id',
      ...allowed(
        owners.write,
        docs('remove'),
        async ({ owner }, { id }: Id): Promise<OneWebhook> => ({
          webhook: webhookRecord(taken(await webhooks.remove(owner, id)), now()),
        }),
      ),
    )
    .post(
      '/:id/rotate',
      ...allowed(owners.recent, docs('rotate'), async ({ owner, set }, { id }: Id): Promise<WebhookWithSecret> => {
        const { webhook, secret } = taken(await webhooks.rotate(owner, id))
        return shownOnce(set, { webhook: webhookRecord(webhook, now()), secret })
      }),
    )
    .post(
      '/:id/confirm',
      ...allowed(owners.write, docs('confirm'), async ({ owner, context }, { id }: Id): Promise<OneWebhook> => {
        const { code } = await readBody(WebhookCode, context)
        return { webhook: webhookRecord(taken(await webhooks.confirm(owner, id, code)), now()) }
      }),
    )
    .post(
      '/:id/code',
      ...allowed(owners.write, docs('code'), async ({ owner, set }, { id }: Id): Promise<OneDelivery> => {
        const delivery = taken(await webhooks.sendCode(owner, id))
        set.status = 202
        return { delivery: deliveryRecord(delivery) }
      }),
    )
    .use(deliveryRoutes(`${name}-deliveries`, webhooks, owners, docs))
}

function deliveryRoutes(name: string, webhooks: Webhooks, owners: MirroredAccess<WebhookOwner>, docs: MirroredDocs) {
  return routeGroup({ name })
    .post(
      '/:id/test',
      ...allowed(owners.write, docs('test'), async ({ owner, set }, { id }: Id): Promise<OneDelivery> => {
        const delivery = taken(await webhooks.sendTest(owner, id))
        set.status = 202
        return { delivery: deliveryRecord(delivery) }
      }),
    )
    .get(
      '/:id/deliveries',
      ...allowed(
        owners.read,
        docs('deliveries', PAGE_QUERY),
        async ({ accountId, context }, { id }: Id): Promise<DeliveryPage> => {
          const { limit, cursor } = queryOf(PAGE_QUERY, context)
          const after = (cursor ?? null) as DeliveryId | null // any text: ids are compared, not looked up
          const page = pageOf(taken(await webhooks.deliveries(accountId, id, limit + 1, after)), limit)
          return { deliveries: page.rows.map(deliveryRecord), next_cursor: page.next }
        },
      ),
    )
    .post(
      '/:id/deliveries/:delivery/resend',
      ...allowed(
        owners.write,
        docs('resend'),
        async ({ owner, set }, { id, delivery }: Id & { readonly delivery: string }): Promise<OneDelivery> => {
          const resent = taken(await webhooks.resend(owner, id, delivery))
          set.status = 202
          return { delivery: deliveryRecord(resent) }
        },
      ),
    )
}

/** The same events in the dashboard. */
export function noticeRoutes({ owners, notices, noticeMails, sendsMail, now, ...seen }: WebhookParts & SeenCalls) {
  const readerOf = async (owner: Owner): Promise<NoticeReader> => {
    const { account, member } = owner
    const reader = { id: account.id, operator: account.operator }
    if (member.role === 'owner') return reader
    const types = OWNER_EVENTS.filter((type) => mayDo(member.role, rightToEvent(type)))
    return { ...reader, types, keyIds: await seenKeys(seen, owner) }
  }
  const mailSettings = async (account: AccountId): Promise<NoticeMailSettings> => {
    const { kinds, weeklySummary } = await noticeMails.choiceOf(account)
    return { kinds: [...kinds], weekly_summary: weeklySummary, sends_mail: sendsMail }
  }
  return routeGroup({ name: 'notices', prefix: '/api/notices' })
    .get(
      '',
      ...allowed(
        signedIn(owners, 'member'),
        documented(NOTICE_DOCS.list, PAGE_QUERY),
        async (call): Promise<NoticePage> => {
          const reader = await readerOf(call.owner)
          const { limit, cursor } = queryOf(PAGE_QUERY, call.context)
          const found = await notices.notices(reader, limit + 1, cursor ?? null)
          if (!found) throw refuseCursor(cursor ?? '')
          const { rows, next } = pageOf(found, limit)
          return { notices: rows.map(noticeRecord), unread: await notices.unread(reader), next_cursor: next }
        },
      ),
    )
    .post(
      '/read',
      ...allowed(signedIn(owners, 'member'), documented(NOTICE_DOCS.read), async (call): Promise<UnreadNotices> => {
        const reader = await readerOf(call.owner)
        const { through } = await readBody(ReadNotices, call.context, {})
        if (!(await notices.markRead(reader, through ?? null))) throw notFound('This notice does not exist.')
        return { unread: await notices.unread(reader) }
      }),
    )
    .get(
      '/mail',
      ...allowed(signedIn(owners, 'settings:read'), documented(NOTICE_DOCS.mail), ({ accountId }) =>
        mailSettings(accountId),
      ),
    )
    .patch(
      '/mail',
      ...allowed(
        signedIn(owners, 'settings:write'),
        documented(NOTICE_DOCS.changeMail),
        async ({ owner, accountId, context }) => {
          const form = await readBody(NoticeMailForm, context)
          const { actor } = owner
          const audit = auditEntry({ at: now(), actor, accountId, action: 'notices.mail', detail: form })
          const { kinds, weekly_summary: weeklySummary } = form
          const choice = {
            ...(kinds && { kinds: [...new Set(kinds)] }),
            ...(weeklySummary !== undefined && { weeklySummary }),
          }
          await noticeMails.choose(accountId, choice, audit)
          return mailSettings(accountId)
        },
      ),
    )
}
