import { useQuery } from '@tanstack/react-query'
import { LOW_BALANCE_MICROS } from '../../api/account/account.ts'
import { billingQuery } from '../../api/billing/billing.ts'
import { toFailure } from '../../api/client/failure.ts'
import { TIME_ZONE, usageQuery } from '../../api/usage.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { Badge } from '../../ui/badge.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { balanceUsd, costUsd } from '../../ui/format/money.ts'
import { Figure, Figures } from '../../ui/layout/card.tsx'

const GROWTH_MICROS = 500_000_000
/** The runway is based on the spend of a week and is available after three days of use. */
const DAYS = 7
const FEW_DAYS = 3
const DAY_SECONDS = 86_400

/** The balance, how long it lasts, and what the next top-up changes. */
export function BalanceFigures() {
  const billing = useQuery(billingQuery)
  const lasts = useLasting(billing.data?.available_micros_usd)
  if (billing.error && !billing.data)
    return <Failed failure={toFailure(billing.error)} onRetry={() => void billing.refetch()} />
  if (!billing.data) return <Loading rows={2} />
  const { available_micros_usd, held_micros_usd, credit_micros_usd, topped_up_micros_usd, debt_micros_usd, tier } =
    billing.data
  const toGrowth = GROWTH_MICROS - topped_up_micros_usd
  return (
    <>
      <Notice available={available_micros_usd} debt={debt_micros_usd} />
      <Figures>
        <Figure label={TEXT.available} value={balanceUsd(available_micros_usd)} title={costUsd(available_micros_usd)}>
          {held_micros_usd > 0 && TEXT.held(costUsd(held_micros_usd))}
        </Figure>
        <Figure label={TEXT.lasts} value={lasts.value}>
          {lasts.text}
        </Figure>
        <Figure label={TEXT.credit} value={balanceUsd(credit_micros_usd)} title={costUsd(credit_micros_usd)}>
          {TEXT.creditText}
        </Figure>
        <Figure
          label={TEXT.toppedUp}
          value={
            <span className="inline-flex flex-wrap items-center gap-2">
              {balanceUsd(topped_up_micros_usd)} <Badge tone="accent">{SHELL_TEXT.tiers[tier]}</Badge>
            </span>
          }
        >
          {tier === 'free' && TEXT.starter}
          {tier === 'starter' && TEXT.growth(balanceUsd(toGrowth))}
        </Figure>
      </Figures>
    </>
  )
}

function Notice({ available, debt }: { available: number; debt: number }) {
  const text =
    debt > 0
      ? TEXT.debt(costUsd(debt))
      : available <= 0
        ? TEXT.empty
        : available < LOW_BALANCE_MICROS
          ? TEXT.low(balanceUsd(available))
          : null
  if (text === null) return null
  return (
    <p role="status" className="rounded-xl border border-line bg-warn-soft p-4 text-warn">
      {text}
    </p>
  )
}

/** How long the balance lasts at the current rate of spending: since the first charge, at most one week. */
function useLasting(available: number | undefined): { readonly value: string; readonly text: string } {
  // Rounded to whole hours, so that the query stays the same while the page is open.
  const end = Math.ceil(Date.now() / 3_600_000) * 3600
  const params = {
    start_time: end - DAYS * DAY_SECONDS,
    end_time: end,
    bucket_width: '1h',
    timezone: TIME_ZONE,
  } as const
  const usage = useQuery(usageQuery(params)).data
  const first = usage?.buckets.find((bucket) => bucket.charged_micros_usd > 0)
  if (available === undefined || !usage || !first) return { value: TEXT.lastsUnknown, text: TEXT.lastsText(DAYS) }
  const spent = usage.totals.charged_micros_usd
  const days = (end - first.start_time) / DAY_SECONDS
  if (days < FEW_DAYS) return { value: TEXT.lastsTooEarly(FEW_DAYS), text: TEXT.lastsSpent(costUsd(spent)) }
  const left = Math.floor(available / (spent / days))
  return {
    value: left > 365 ? TEXT.lastsLong : TEXT.lastsDays(left),
    text: TEXT.lastsText(Math.round(days)),
  }
}
