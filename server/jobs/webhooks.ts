import type { Alerts } from '../core/accounts/alerts'
import type { SpendSummaries } from '../core/accounts/mails/spend-summaries'
import { type Clock, HOUR_MS, MINUTE_MS } from '../core/clock'
import type { ApiKey } from '../core/credentials/api-key'
import { reasonOf } from '../core/result'
import type { Delivering } from '../core/webhooks/delivering'
import type { NewEvent } from '../core/webhooks/event'
import type { NoticeMails } from '../core/webhooks/notice-mails'
import type { WebhookStore } from '../core/webhooks/webhook'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const ROUND_MS = 1_000
/** How long before a key expires its owner is notified. */
const EXPIRING_MS = 3 * 24 * HOUR_MS

/** Sends events every second. */
export function startDelivering(delivering: Pick<Delivering, 'run'>, log: Log): Job {
  return startJob(() => delivering.run(), {
    everyMs: ROUND_MS,
    onError: (error) =>
      log.warn('events could not be delivered; the next round tries again', { reason: reasonOf(error) }),
  })
}

/** Mails notices every minute. */
export function startNoticeMails(mails: Pick<NoticeMails, 'run'>, log: Log): Job {
  return startJob((signal) => mails.run(signal), {
    everyMs: MINUTE_MS,
    onError: (error) =>
      log.warn('notices could not be mailed; the next round tries again', { reason: reasonOf(error) }),
  })
}

/** Mails weekly summaries of spend, within an hour of the end of the week. */
export function startSpendSummaries(summaries: Pick<SpendSummaries, 'run'>, log: Log): Job {
  return startJob((signal) => summaries.run(signal), {
    everyMs: HOUR_MS,
    firstMs: MINUTE_MS,
    onError: (error) => log.warn('no summary was mailed; the next round tries again', { reason: reasonOf(error) }),
  })
}

/** Compares usage and balances with what owners want to hear of, every minute. */
export function startAlerts(alerts: Pick<Alerts, 'run'>, log: Log): Job {
  return startJob((signal) => alerts.run(signal), {
    everyMs: MINUTE_MS,
    onError: (error) =>
      log.warn('alerts could not be checked; the next round tries again', { reason: reasonOf(error) }),
  })
}

/** Notifies owners, once for each time of expiry, of keys that expire soon. */
export function startExpiryNotices(
  parts: {
    readonly store: Pick<WebhookStore, 'addEvents'>
    readonly expiring: (from: number, to: number) => Promise<readonly Pick<ApiKey, 'id' | 'accountId' | 'expiresAt'>[]>
    readonly clock: Clock
  },
  log: Log,
): Job {
  const { store, expiring, clock } = parts
  const notify = async () => {
    const now = clock.now()
    const keys = await expiring(now, now + EXPIRING_MS)
    await store.addEvents(
      keys.map(
        ({ id, accountId, expiresAt }): NewEvent => ({
          id: `evt_${id.slice('key_'.length)}_expiring${expiresAt}`,
          type: 'key.expiring',
          accountId,
          keyId: id,
          at: now,
          data: {},
        }),
      ),
    )
  }
  return startJob(notify, {
    everyMs: HOUR_MS,
    firstMs: ROUND_MS,
    onError: (error) => log.warn('owners of expiring keys could not be notified', { reason: reasonOf(error) }),
  })
}
