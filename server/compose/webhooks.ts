import { KeyRing } from '../adapters/sealing/key-ring'
import type { Config } from '../config'
import type { AccountSettingsStore } from '../core/accounts/account-settings'
import { Alerts } from '../core/accounts/alerts'
import type { AppGrantStore } from '../core/accounts/app-grant'
import { SpendSummaries, type SpendSummaryStore } from '../core/accounts/mails/spend-summaries'
import type { LimitRequestStore } from '../core/accounts/staff/limit-request'
import { type Clock, isoTime } from '../core/clock'
import type { ApiKey } from '../core/credentials/api-key'
import type { CredentialStore } from '../core/credentials/store'
import type { AccountId, LimitRequestId } from '../core/ids'
import type { Ledger } from '../core/ledger/ledger'
import { MAIL_FAILED, type Mailer } from '../core/mail/mailer'
import { reasonOf } from '../core/result'
import type { UsageReports } from '../core/usage/reports'
import { Delivering } from '../core/webhooks/delivering'
import type { EventType, GatewayEvent } from '../core/webhooks/event'
import { type NoticeMailStore, NoticeMails, UnsubscribeLinks } from '../core/webhooks/notice-mails'
import type { NoticeStore } from '../core/webhooks/notices'
import type { SendWebhook, WebhookStore } from '../core/webhooks/webhook'
import { WebhookCodes } from '../core/webhooks/webhook-codes'
import { Webhooks } from '../core/webhooks/webhooks'
import { limitRequestRecord } from '../http/account/limit-request-record'
import { keyRecord } from '../http/keys/record'
import {
  startAlerts,
  startDelivering,
  startExpiryNotices,
  startNoticeMails,
  startSpendSummaries,
} from '../jobs/webhooks'
import type { Log } from '../log'
import { openPrivateFetch } from './private-fetch'

interface Parts {
  readonly stores: {
    readonly webhooks: WebhookStore
    readonly notices: NoticeStore
    readonly noticeMails: NoticeMailStore & SpendSummaryStore
    readonly reports: UsageReports
    readonly limitRequests: LimitRequestStore
    readonly settings: Pick<AccountSettingsStore, 'alerts'>
  }
  readonly mailer: Mailer | null
  readonly credentials: CredentialStore & {
    expiring(from: number, to: number): Promise<readonly Pick<ApiKey, 'id' | 'accountId' | 'expiresAt'>[]>
  }
  readonly ledger: Ledger
  readonly apps: Pick<AppGrantStore, 'byId'>
  readonly clock: Clock
  readonly log: Log
}

/** Endpoints of owners, and the jobs that send events to them. */
export function composeWebhooks(config: Config, parts: Parts) {
  const { stores, credentials, clock, log } = parts
  const sealing = new KeyRing(config.sealingKeys)
  const store = stores.webhooks
  const onError = (error: unknown) => log.error('a webhook could not be sent', { reason: reasonOf(error) })
  const fetch = openPrivateFetch({ baseUrl: config.baseUrl, allows: config.webhooks.allowsPrivate })
  const send: SendWebhook = async (request) => {
    // Its library is loaded with the first event.
    const { openWebhookSender } = await import('../adapters/webhooks/send-webhook')
    return openWebhookSender(fetch)(request)
  }
  const codes = new WebhookCodes(config.secretKey)
  const { allowsPrivate, ...bounds } = config.webhooks
  const common = { store, sealing, codes, clock }
  const delivering = new Delivering({ ...common, send, bounds, onError, describe: describer(parts) })
  const links = new UnsubscribeLinks(config.secretKey, config.baseUrl)
  const { noticeMails } = stores
  const onFailure = (reason: string) => log.error(MAIL_FAILED, { reason })
  const { mailer, ledger } = parts
  const mailing = mailer && { store: noticeMails, mailer, clock, baseUrl: config.baseUrl, links, onFailure }
  const mails = mailing && new NoticeMails(mailing)
  const { reports } = stores
  const spendSummaries = mailing && new SpendSummaries({ ...mailing, reports, credentials, ledger })
  const alerts = new Alerts({
    all: () => stores.settings.alerts(),
    reports,
    ledger,
    addEvents: (events) => store.addEvents(events),
    now: () => clock.now(),
  })
  const jobs = [
    ...(mails ? [startNoticeMails(mails, log)] : []),
    ...(spendSummaries ? [startSpendSummaries(spendSummaries, log)] : []),
    startDelivering(delivering, log),
    startAlerts(alerts, log),
    startExpiryNotices({ store, expiring: (from, to) => credentials.expiring(from, to), clock }, log),
  ]
  return {
    routes: {
      webhooks: new Webhooks({ ...common, allowsPrivate }),
      notices: stores.notices,
      noticeMails,
      unsubscribeLinks: links,
    },
    /** For tests. */
    senders: { delivering, noticeMails: mails, spendSummaries, alerts },
    async close() {
      await Promise.all(jobs.map((job) => job.close()))
      await delivering.close()
    },
  }
}

/** Writes an event that no commit causes, best effort; for operators, without an account. `cause`: the same cause makes one event. */
export function eventWriter(store: Pick<WebhookStore, 'addEvents' | 'countLost'>, clock: Clock, log: Log) {
  return (type: EventType, cause: string, data: GatewayEvent['data'], accountId: AccountId | null = null): void => {
    const id = `evt_${type.replace('.', '_')}_${cause}`
    store.addEvents([{ id, type, accountId, keyId: null, at: clock.now(), data }]).catch((error: unknown) => {
      store.countLost()
      log.error('an event was lost', { type, reason: reasonOf(error) })
    })
  }
}

/** The data of an event: the record as the API gives it, where there is one. */
function describer({
  stores,
  credentials,
  ledger,
  apps,
  clock,
}: Parts): (event: GatewayEvent) => Promise<GatewayEvent['data']> {
  return async ({ type, keyId, data }) => {
    if (type.startsWith('key.')) {
      const key = keyId === null ? null : await credentials.byId(keyId)
      return key ? { ...(await keyRecord(key, { credentials, ledger, apps, now: clock.now() })) } : { id: keyId }
    }
    if (type.startsWith('limits.')) {
      const request = await stores.limitRequests.byId(data['id'] as LimitRequestId) // its audit entry names it
      if (request) return { ...limitRequestRecord(request) }
    }
    const starts = data['period_starts_at']
    return {
      ...data,
      ...(keyId !== null && { key_id: keyId }),
      ...(typeof starts === 'number' && { period_starts_at: isoTime(starts) }),
    }
  }
}
