import { HOUR_MS, isoTime } from '../clock'
import type { AccountId, CredentialId } from '../ids'
import type { Ledger } from '../ledger/ledger'
import type { Money } from '../money'
import { periodAround } from '../usage/calendar'
import type { UsageReports } from '../usage/reports'
import { added, NO_USAGE, type UsageSums } from '../usage/sums'
import type { NewEvent } from '../webhooks/event'

export const ALERT_KINDS = ['spend_day', 'balance', 'failures_hour'] as const
export const MAX_ALERTS = 20
/** Fewer requests of an hour say nothing about its failures. */
const MIN_REQUESTS = 20

/** What an owner wants to hear of. */
export interface Alert {
  /** The spend of a day reaches `usd`, the balance falls below `usd`, or `percent` of the requests of an hour fail. */
  readonly on: (typeof ALERT_KINDS)[number]
  /** Only the calls of this key; null for the account. Always null for `balance`. */
  readonly key: CredentialId | null
  /** Micro-USD for the first two; percent for failures. */
  readonly threshold: number
}

export interface AccountAlerts {
  readonly accountId: AccountId
  /** Days are those of this time zone. */
  readonly timezone: string
  readonly alerts: readonly Alert[]
}

interface AlertParts {
  /** The alerts of all accounts that have some and are open. */
  readonly all: () => Promise<readonly AccountAlerts[]>
  readonly reports: Pick<UsageReports, 'usage'>
  readonly ledger: Pick<Ledger, 'balance'>
  /** Adds events, each id once. */
  readonly addEvents: (events: readonly NewEvent[]) => Promise<void>
  readonly now: () => number
}

/** Compares usage and balances with the alerts of their owners. An alert fires once a day, one about failures once an hour. */
export class Alerts {
  private readonly parts: AlertParts

  constructor(parts: AlertParts) {
    this.parts = parts
  }

  async run(signal: AbortSignal): Promise<void> {
    for (const account of await this.parts.all()) {
      if (signal.aborted) return
      const events: NewEvent[] = []
      for (const alert of account.alerts) {
        const event = await this.fired(account, alert)
        if (event) events.push(event)
      }
      if (events.length > 0) await this.parts.addEvents(events)
    }
  }

  private async fired({ accountId, timezone }: AccountAlerts, alert: Alert): Promise<NewEvent | null> {
    const { on, key, threshold } = alert
    const at = this.parts.now()
    const day = periodAround(at, 'day', timezone)
    const period = on === 'failures_hour' ? { start: at - (at % HOUR_MS), end: at } : day
    const reached = on === 'balance' ? await this.low(accountId, threshold) : await this.over(accountId, alert, period)
    if (!reached) return null
    // The same alert in the same period is the same event.
    const cause = [accountId, on, key ?? '', threshold, period.start].join('_')
    return {
      id: `evt_alert_${new Bun.CryptoHasher('sha256').update(cause).digest('hex').slice(0, 32)}`,
      type: 'alert.reached',
      accountId,
      keyId: null,
      at,
      data: {
        on,
        ...(on === 'failures_hour' ? { threshold_percent: threshold } : { threshold_micros_usd: threshold }),
        ...reached,
        ...(key !== null && { key_id: key }),
        ...(on !== 'balance' && { since: isoTime(period.start) }),
      },
    }
  }

  private async low(account: AccountId, threshold: number): Promise<{ readonly balance_micros_usd: Money } | null> {
    const balance = await this.parts.ledger.balance(account)
    return balance && balance.posted < threshold ? { balance_micros_usd: balance.posted } : null
  }

  private async over(
    accountId: AccountId,
    { on, key, threshold }: Alert,
    { start, end }: { readonly start: number; readonly end: number },
  ): Promise<Readonly<Record<string, number>> | null> {
    const filter = { accountId, keyId: key, operation: null, status: null, model: null }
    const { buckets } = await this.parts.reports.usage({ ...filter, from: start, to: end }, [start, end], null)
    const sums: UsageSums = buckets.reduce(added, NO_USAGE)
    if (on === 'spend_day') return sums.charged >= threshold ? { spent_micros_usd: sums.charged } : null
    const { requests, failedRequests: failed } = sums
    const percent = requests === 0 ? 0 : Math.floor((failed * 100) / requests)
    return requests >= MIN_REQUESTS && percent >= threshold ? { percent, requests, failed_requests: failed } : null
  }
}
