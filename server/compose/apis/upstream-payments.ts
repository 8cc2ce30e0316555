import type { Config } from '../../config'
import type { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import type { UpstreamPayments } from '../../core/apis/payments/upstream-payment'
import type { Clock } from '../../core/clock'
import type { Journal } from '../../core/ledger/journal'
import type { Job } from '../../jobs/job'
import { startUpstreamPaymentChecks } from '../../jobs/upstream-payments'
import type { Log } from '../../log'
import type { PaidUpstreams } from '../../pipeline/apis/ask-paid'
import type { TakeOffSale } from './off-sale'

/** The wallet that pays upstreams per request; null without one. */
export async function openUpstreamWallet(
  { apis: { wallet } }: Config,
  payments: UpstreamPayments,
  clock: Clock,
): Promise<PaidUpstreams | null> {
  if (!wallet) return null
  await payments.abandon(clock.now())
  // Loaded only here: signing needs libraries of 70 MB.
  const { openWallet } = await import('../../adapters/upstream-wallet/open-wallet')
  return { wallet: openWallet(wallet), payments, clock }
}

interface CheckParts {
  readonly paying: PaidUpstreams | null
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly catalog: Pick<ApiCatalog, 'byName'>
  readonly takeOffSale: TakeOffSale
}

/** Follows the payments that brought no answer. Null without a wallet. */
export function followUpstreamPayments(parts: CheckParts): Job | null {
  const { paying, journal, clock, log, catalog, takeOffSale } = parts
  if (!paying) return null
  return startUpstreamPaymentChecks({
    ...paying,
    journal,
    clock,
    changedAt: (api) => catalog.byName(api)?.updatedAt ?? null,
    async disable(api) {
      const isDone = await takeOffSale({ api, operation: null, by: 'upstream payments' })
      log.error('an API cashed payments without answers; it is disabled', { api, ...(!isDone && { left: 'enabled' }) })
    },
    onTrouble: (what, reason) => log.error(what, { reason }),
  })
}
