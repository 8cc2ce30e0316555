import { useQuery } from '@tanstack/react-query'
import { GROWTH_TOP_UPS } from '../../../../server/core/limits/tier.ts'
import { LOW_BALANCE_MICROS } from '../../api/account/account.ts'
import { billingQuery } from '../../api/billing/billing.ts'
import { FORECAST_DAYS, type Forecast, MIN_DAYS, useForecast } from '../../api/billing/forecast.ts'
import { toApiFailure } from '../../api/client/failure.ts'
import { BILLING_TEXT as TEXT } from '../../messages/billing.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { Badge } from '../../ui/badge.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { balanceUsd, costUsd } from '../../ui/format/money.ts'
import { formatDay } from '../../ui/format/time.tsx'
import { Figure, Figures } from '../../ui/layout/card.tsx'

/** The balance, how long it lasts, and what the next top-up changes. */
export function BalanceFigures() {
  const billing = useQuery(billingQuery)
  const lasts = forecastFigure(useForecast(billing.data?.available_micros_usd))
  if (billing.error && !billing.data)
    return <Failed failure={toApiFailure(billing.error)} onRetry={() => void billing.refetch()} />
  if (!billing.data) return <Loading rows={2} />
  const { available_micros_usd, held_micros_usd, credit_micros_usd, topped_up_micros_usd, debt_micros_usd, tier } =
    billing.data
  const toGrowth = GROWTH_TOP_UPS - topped_up_micros_usd
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

function forecastFigure(forecast: Forecast | undefined): { readonly value: string; readonly text: string } {
  if (forecast === undefined) return { value: '-', text: '' }
  if (forecast.kind === 'idle') return { value: TEXT.lastsUnknown, text: TEXT.lastsIdle(FORECAST_DAYS) }
  if (forecast.kind === 'early')
    return { value: TEXT.lastsTooEarly(MIN_DAYS), text: TEXT.lastsSpent(costUsd(forecast.spentMicros)) }
  const { until, microsPerDay, days } = forecast
  return {
    value: until === null ? TEXT.lastsLong : formatDay(until),
    text: TEXT.lastsText(costUsd(Math.round(microsPerDay)), days),
  }
}
