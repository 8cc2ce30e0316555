import { useQuery } from '@tanstack/react-query'
import { billingQuery } from '../../api/billing.ts'
import { asFailure } from '../../api/failure.ts'
import { TIME_ZONE, usageQuery } from '../../api/usage.ts'
import { Badge } from '../../ui/badge.tsx'
import { Figure, Figures } from '../../ui/card.tsx'
import { balanceUsd, costUsd } from '../../ui/money.ts'
import { Failed, Loading } from '../../ui/states.tsx'
import { BILLING_WORDS as WORDS } from '../../words/billing.ts'
import { SHELL_WORDS } from '../../words/shell.ts'

const LOW_MICROS = 1_000_000
const GROWTH_MICROS = 500_000_000
const DAYS = 7
const DAY_SECONDS = 86_400

/** What is left, how long it lasts, and what the next top-up changes. */
export function BalanceFigures() {
  const billing = useQuery(billingQuery)
  const days = useDaysLeft(billing.data?.available_micros_usd)
  if (billing.error && !billing.data)
    return <Failed failure={asFailure(billing.error)} onTryAgain={() => void billing.refetch()} />
  if (!billing.data) return <Loading rows={2} />
  const { available_micros_usd, held_micros_usd, credit_micros_usd, topped_up_micros_usd, debt_micros_usd, tier } =
    billing.data
  const toGrowth = GROWTH_MICROS - topped_up_micros_usd
  return (
    <>
      <Notice available={available_micros_usd} debt={debt_micros_usd} />
      <Figures>
        <Figure label={WORDS.available} value={balanceUsd(available_micros_usd)} title={costUsd(available_micros_usd)}>
          {held_micros_usd > 0 && WORDS.held(costUsd(held_micros_usd))}
        </Figure>
        <Figure label={WORDS.lasts} value={daysWords(days)}>
          {WORDS.lastsText}
        </Figure>
        <Figure label={WORDS.credit} value={balanceUsd(credit_micros_usd)} title={costUsd(credit_micros_usd)}>
          {WORDS.creditText}
        </Figure>
        <Figure
          label={WORDS.toppedUp}
          value={
            <span className="inline-flex flex-wrap items-center gap-2">
              {balanceUsd(topped_up_micros_usd)} <Badge tone="accent">{SHELL_WORDS.tiers[tier]}</Badge>
            </span>
          }
        >
          {tier === 'free' && WORDS.starter}
          {tier === 'starter' && WORDS.growth(balanceUsd(toGrowth))}
        </Figure>
      </Figures>
    </>
  )
}

function Notice({ available, debt }: { available: number; debt: number }) {
  const text =
    debt > 0
      ? WORDS.debt(costUsd(debt))
      : available <= 0
        ? WORDS.empty
        : available < LOW_MICROS
          ? WORDS.low(balanceUsd(available))
          : null
  if (text === null) return null
  return (
    <p role="status" className="rounded-xl border border-line bg-warn-soft p-4 text-warn">
      {text}
    </p>
  )
}

/** Days that the balance lasts at the spend of the last week; null while nothing is spent, or not known yet. */
function useDaysLeft(available: number | undefined): number | null {
  // Whole hours, so that the question stays the same one while the page is open.
  const end = Math.ceil(Date.now() / 3_600_000) * 3600
  const asked = {
    start_time: end - DAYS * DAY_SECONDS,
    end_time: end,
    bucket_width: '1d',
    timezone: TIME_ZONE,
  } as const
  const spent = useQuery(usageQuery(asked)).data?.totals.charged_micros_usd
  if (available === undefined || spent === undefined || spent <= 0) return null
  return Math.floor(available / (spent / DAYS))
}

function daysWords(days: number | null): string {
  if (days === null) return WORDS.lastsUnknown
  return days > 365 ? WORDS.lastsLong : WORDS.lastsDays(days)
}
