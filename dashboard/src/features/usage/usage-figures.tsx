import { useQuery } from '@tanstack/react-query'
import { type UsageFilter, type UsageSums, usageParams, usageQuery } from '../../api/usage.ts'
import { spanBefore, type UsageSpan } from '../../api/views/usage-range.ts'
import type { UsageView } from '../../api/views/usage-view.ts'
import { USAGE_TEXT as TEXT } from '../../messages/usage.ts'
import { costUsd, grouped, percent, shortCount } from '../../ui/format/money.ts'
import { formatDateTime } from '../../ui/format/time.tsx'
import { Figure, Figures } from '../../ui/layout/card.tsx'

/** The totals of a period, each compared with the period of the same length before. */
export function UsageFigures({ span, range, filter }: UsageFiguresProps) {
  const report = useQuery(usageQuery(usageParams(span, filter))).data
  const now = report?.totals
  const before = useQuery(usageQuery(usageParams(spanBefore(span), filter))).data?.totals
  const succeeded = (sums: UsageSums) => sums.requests - sums.failed_requests
  const average = now && succeeded(now) > 0 ? Math.round(now.charged_micros_usd / succeeded(now)) : null
  const { whole_slots_before: wholeSlots, refunded_micros_usd: refunded = 0 } = report ?? {}
  return (
    <>
      <Figures>
        <Figure label={TEXT.spend} value={now ? costUsd(now.charged_micros_usd) : '-'}>
          {change(now?.charged_micros_usd, before?.charged_micros_usd, range)}
          {refunded > 0 && <span className="block">{TEXT.refunded(costUsd(refunded))}</span>}
        </Figure>
        <Figure
          label={TEXT.requests}
          value={now ? shortCount(now.requests) : '-'}
          {...(now && { title: grouped(now.requests) })}
        >
          {change(now?.requests, before?.requests, range)}
        </Figure>
        <Figure label={TEXT.success} value={now ? percent(succeeded(now), now.requests) : '-'} />
        <Figure label={TEXT.average} value={average === null ? '-' : costUsd(average)} />
      </Figures>
      {wholeSlots !== undefined && (
        <p className="small text-muted">{TEXT.wholeSlots(formatDateTime(new Date(wholeSlots * 1000).toISOString()))}</p>
      )}
    </>
  )
}

type UsageFiguresProps = { span: UsageSpan; range: UsageView['range']; filter: UsageFilter }

function change(now: number | undefined, before: number | undefined, range: UsageView['range']): string | null {
  if (now === undefined || before === undefined) return null
  if (before === 0) return TEXT.noBefore
  if (now === before) return TEXT.same(TEXT.previous[range])
  const share = Math.round(((now - before) / before) * 100)
  return TEXT.since(`${share >= 0 ? '+' : '-'}${Math.abs(share)}%`, TEXT.previous[range])
}
