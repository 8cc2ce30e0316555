import { useQuery } from '@tanstack/react-query'
import { GROWTH_TOP_UPS } from '../../../../server/core/limits/tier.ts'
import { accountQuery } from '../../api/account/account.ts'
import { limitsQuery } from '../../api/billing/limits.ts'
import { toApiFailure } from '../../api/client/failure.ts'
import { LIMIT_TEXT as TEXT } from '../../messages/limits.ts'
import { SHELL_TEXT } from '../../messages/shell.ts'
import { Badge } from '../../ui/badge.tsx'
import { Meter } from '../../ui/charts/meter.tsx'
import { Failed } from '../../ui/feedback/failure.tsx'
import { Loading } from '../../ui/feedback/states.tsx'
import { balanceUsd, grouped } from '../../ui/format/money.ts'
import { Card } from '../../ui/layout/card.tsx'

/** The current tier, its limits, and how to reach the next one. */
export function TierCard() {
  const limits = useQuery(limitsQuery)
  const account = useQuery(accountQuery).data
  if (limits.data === undefined || account === undefined)
    return (
      <Card title={TEXT.yourTier} flush>
        {limits.error ? (
          <Failed failure={toApiFailure(limits.error)} onRetry={() => void limits.refetch()} />
        ) : (
          <Loading />
        )}
      </Card>
    )
  const { tier } = limits.data
  const { requests_per_minute: rpm, tokens_per_minute: tpm, concurrency } = limits.data.limits
  return (
    <Card title={TEXT.yourTier} aside={<Badge tone="accent">{SHELL_TEXT.tiers[tier]}</Badge>}>
      <p>{TEXT.perKey}</p>
      <dl className="flex flex-wrap gap-x-8 gap-y-2">
        <Cap label={TEXT.tierColumns.rpm} value={rpm} />
        <Cap label={TEXT.tierColumns.tpm} value={tpm} />
        <Cap label={TEXT.tierColumns.concurrency} value={concurrency} />
      </dl>
      <NextTier tier={tier} toppedUp={account.topped_up_micros_usd} />
    </Card>
  )
}

function Cap({ label, value }: { label: string; value: number }) {
  return (
    <div>
      <dt className="small text-muted">{label}</dt>
      <dd className="text-base font-semibold">{grouped(value)}</dd>
    </div>
  )
}

function NextTier({ tier, toppedUp }: { tier: keyof typeof TEXT.how; toppedUp: number }) {
  if (tier === 'enterprise') return <p className="text-muted">{TEXT.enterprise}</p>
  if (tier === 'growth') return <p className="text-muted">{TEXT.growth}</p>
  if (tier === 'free')
    return (
      <p className="text-muted">
        {TEXT.firstTopUp} {TEXT.orRequest}
      </p>
    )
  const words = TEXT.toGrowth(balanceUsd(toppedUp))
  return (
    <div className="grid gap-2">
      <Meter label={TEXT.toGrowthMeter} used={toppedUp} max={GROWTH_TOP_UPS} text={words} />
      <p className="text-muted">
        {words} {TEXT.orRequest}
      </p>
    </div>
  )
}
