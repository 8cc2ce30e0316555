import { useForecast } from '../../api/billing/forecast.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { costUsd } from '../../ui/format/money.ts'
import { formatDay } from '../../ui/format/time.tsx'

/** How long the balance lasts at the pace of the last week, with that pace on hover. Nothing until it is known. */
export function BalanceForecast({ availableMicros }: { availableMicros: number }) {
  const forecast = useForecast(availableMicros)
  if (forecast?.kind !== 'known') return null
  const { until, microsPerDay, days } = forecast
  return (
    <span className="block" title={TEXT.pace(costUsd(Math.round(microsPerDay)), days)}>
      {until === null ? TEXT.lastsLong : TEXT.lasts(formatDay(until))}
    </span>
  )
}
