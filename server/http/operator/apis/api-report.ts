import { apiReports, type ReadOperationUsage } from '../../../core/apis/api-report'
import type { ApiRegistry } from '../../../core/apis/api-store'
import type { UpstreamPayments, UpstreamWallet } from '../../../core/apis/payments/upstream-payment'
import { DAY_MS } from '../../../core/clock'
import { type ApiReport, apiReportRecord } from '../../apis/report-record'

const DAYS = 30

export interface ApiReportNeeds {
  readonly apis: ApiRegistry
  readonly operationUsage: ReadOperationUsage
  /** Pays upstreams per request; null without a wallet. */
  readonly paying: { readonly wallet: UpstreamWallet; readonly payments: UpstreamPayments } | null
  readonly now: () => number
}

/** The revenue of the APIs over the last days, and the wallet's signatures, for the operator. */
export async function readApiReport({ apis, operationUsage, paying, now }: ApiReportNeeds): Promise<ApiReport> {
  const from = now() - DAYS * DAY_MS
  const [usage, paid, signed] = await Promise.all([
    operationUsage(from, now() - DAY_MS),
    paying?.payments.sums(from) ?? [],
    paying?.payments.counted(now()),
  ])
  const wallet = paying && {
    address: paying.wallet.address,
    signed_micros_usd: signed ?? 0,
    daily_maximum_micros_usd: paying.wallet.maxima.inAll,
  }
  return { days: DAYS, wallet, apis: apiReports(apis.routes.apis, usage, paid).map(apiReportRecord) }
}
