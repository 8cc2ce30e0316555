import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, type LinkProps } from '@tanstack/react-router'
import { type ApiKey, keysQuery } from '../../api/keys.ts'
import { usageQuery, VIEWER_TIME_ZONE } from '../../api/usage.ts'
import { OVERVIEW_TEXT as TEXT } from '../../messages/overview.ts'
import { bindingBudget } from '../../ui/budgets/current-budgets.ts'
import { buttonClass } from '../../ui/button.tsx'
import { MICROS_PER_USD, percent } from '../../ui/format/money.ts'
import { formatUntil, useNow } from '../../ui/format/time.tsx'
import { Card } from '../../ui/layout/card.tsx'

const HOUR_SECONDS = 3_600
const DAY_MS = 86_400_000
const NEAR_LIMIT = 0.8
const MANY_REFUSED = 0.05

interface Notice {
  readonly id: string
  readonly text: string
  readonly button: string
  readonly to: Pick<LinkProps, 'to' | 'params' | 'search'>
}

/** Problems that need the owner's attention, each with a link. Checks the keys that were used most recently. */
export function Attention() {
  const now = useNow()
  const used = useInfiniteQuery(keysQuery({ sort: 'last_used' })).data?.pages[0]?.keys ?? []
  const refused = useRefusedShare(now)
  const notices = [...used.flatMap((key) => noticesOf(key, now)), ...refused]
  return (
    <Card title={TEXT.attention}>
      {notices.length === 0 ? (
        <p className="text-muted">{TEXT.nothing}</p>
      ) : (
        <ul className="grid gap-2">
          {notices.map(({ id, text, button, to }) => (
            <li key={id} className="flex flex-wrap items-center justify-between gap-3">
              <span>{text}</span>
              <Link {...to} className={buttonClass()}>
                {button}
              </Link>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}

function noticesOf(key: ApiKey, now: number): readonly Notice[] {
  const { id, name, status, spending_limit: limit, spent_micros_usd: spent, stops_at: stops, expires_at: expires } = key
  const notice = (what: string, text: string): Notice => ({
    id: `${id} ${what}`,
    text,
    button: TEXT.viewKey,
    to: { to: '/keys/$id', params: { id } },
  })
  if (status === 'exhausted') return [notice('exhausted', TEXT.exhausted(name))]
  if (status !== 'active') return []
  const current = bindingBudget(key)
  const budget = current?.window
  if (budget?.remaining_micros_usd === 0)
    return [notice('budget', TEXT.budgetUsed(name, formatUntil(budget.ends_at, now)))]
  const limitMicros = limit === null ? null : limit * MICROS_PER_USD
  const soon = (at: string) => Date.parse(at) - now < 7 * DAY_MS
  const recentlyUsed = key.last_used_at !== null && now - Date.parse(key.last_used_at) < DAY_MS
  return [
    ...(limitMicros !== null && spent >= limitMicros * NEAR_LIMIT
      ? [notice('near', TEXT.nearLimit(name, percent(spent, limitMicros)))]
      : []),
    ...(current && current.window.spent_micros_usd >= current.limit * NEAR_LIMIT
      ? [notice('near budget', TEXT.nearBudget(name, percent(current.window.spent_micros_usd, current.limit)))]
      : []),
    ...(expires !== null && soon(expires) ? [notice('expires', TEXT.expiring(name, formatUntil(expires, now)))] : []),
    ...(stops !== null && recentlyUsed ? [notice('old', TEXT.oldInUse(name, formatUntil(stops, now)))] : []),
  ]
}

/** Shown if many requests of the last hour were refused because of limits or balance. */
function useRefusedShare(now: number): readonly Notice[] {
  const end = (Math.floor(now / 1000 / HOUR_SECONDS) + 1) * HOUR_SECONDS
  const params = {
    start_time: end - 2 * HOUR_SECONDS,
    end_time: end,
    bucket_width: '1h',
    timezone: VIEWER_TIME_ZONE,
    group_by: 'status',
  } as const
  const { data } = useQuery(usageQuery(params))
  const refused = (data?.groups ?? [])
    .filter(({ name }) => String(name) === '402' || String(name) === '429')
    .reduce((sum, { requests }) => sum + requests, 0)
  const all = data?.totals.requests ?? 0
  if (all === 0 || refused / all <= MANY_REFUSED) return []
  const text = TEXT.refused(percent(refused, all))
  return [
    {
      id: 'refused',
      text,
      button: TEXT.viewRequests,
      to: { to: '/usage', search: { tab: 'requests', range: '24h' } },
    },
  ]
}
