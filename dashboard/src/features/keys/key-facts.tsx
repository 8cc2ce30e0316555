import { useQuery } from '@tanstack/react-query'
import { accountQuery } from '../../api/account/account.ts'
import { type ApiKey, isReplaced, keyNamesQuery } from '../../api/keys.ts'
import { BUDGET_TEXT } from '../../messages/budgets.ts'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'
import { Badge, type Tone } from '../../ui/badge.tsx'
import { BudgetMeter } from '../../ui/budgets/budget-meter.tsx'
import { bindingBudget } from '../../ui/budgets/current-budgets.ts'
import { LabeledMeter } from '../../ui/charts/meter.tsx'
import { balanceUsd, costUsd, usdMicros } from '../../ui/format/money.ts'
import { formatUntil, useNow } from '../../ui/format/time.tsx'

const TONES: Record<ApiKey['status'], Tone> = {
  active: 'ok',
  exhausted: 'bad',
  disabled: 'neutral',
  expired: 'warn',
  revoked: 'neutral',
}

/** The status of a key as a badge. */
export function KeyStatusBadge({ apiKey }: { apiKey: ApiKey }) {
  const now = useNow()
  if (isReplaced(apiKey) && apiKey.status === 'active')
    return <BadgeWithTime tone="warn" text={TEXT.replaced} time={TEXT.stops(formatUntil(apiKey.stops_at, now))} />
  const window = apiKey.status === 'active' ? bindingBudget(apiKey)?.window : null
  if (window?.remaining_micros_usd === 0)
    return (
      <BadgeWithTime tone="bad" text={TEXT.budgetUsed} time={TEXT.budgetStartsAnew(formatUntil(window.ends_at, now))} />
    )
  return <Badge tone={TONES[apiKey.status]}>{TEXT.statuses[apiKey.status]}</Badge>
}

function BadgeWithTime({ tone, text, time }: { tone: Tone; text: string; time: string }) {
  return (
    <span className="inline-flex items-center gap-2">
      <Badge tone={tone}>{text}</Badge>
      <span className="small whitespace-nowrap text-muted">{time}</span>
    </span>
  )
}

/** The key's spend and limit, as text and as a bar. */
export function KeySpend({ apiKey }: { apiKey: ApiKey }) {
  return isReplaced(apiKey) ? <ReplacedSpend apiKey={apiKey} /> : <SpendOfLimit apiKey={apiKey} />
}

/** Both keys of a rotation spend from the same limit: the sum is shown once, with the new key unless that is revoked. */
function ReplacedSpend({ apiKey }: { apiKey: ApiKey }) {
  const names = useQuery(keyNamesQuery).data?.names
  const isNewGone = names?.some(({ id, revoked }) => id === apiKey.replaced_by && revoked)
  if (isNewGone) return <SpendOfLimit apiKey={apiKey} />
  return <span className="small block min-w-32 text-muted">{TEXT.spentWithNew}</span>
}

/** Of its limit or its budget: whichever has less left. */
function SpendOfLimit({ apiKey }: { apiKey: ApiKey }) {
  const { spent_micros_usd: spent, spending_limit: limit } = apiKey
  const current = bindingBudget(apiKey)
  if (current && current.window.remaining_micros_usd < (apiKey.remaining_micros_usd ?? Number.POSITIVE_INFINITY))
    return <BudgetMeter current={current} />
  if (limit === null) return <span className="whitespace-nowrap">{TEXT.noLimit(costUsd(spent))}</span>
  const text = TEXT.spentOf(costUsd(spent), costUsd(usdMicros(limit)))
  return <LabeledMeter label={TEXT.limitUsed} used={spent} max={usdMicros(limit)} text={text} />
}

/** The spendable money of a key: the lowest of its limit, its budget and the account balance, and which one it is. */
export function KeyRemaining({ apiKey }: { apiKey: ApiKey }) {
  const { amount, bound } = useKeyRemaining(apiKey)
  return (
    <span className="whitespace-nowrap" title={bound}>
      {amount}
      <span className="sr-only"> {bound}</span>
    </span>
  )
}

export function useKeyRemaining({ status, remaining_micros_usd: left, ...budgeted }: ApiKey): RemainingAmount {
  const balance = useQuery(accountQuery).data?.balance_micros_usd
  if (status === 'disabled' || status === 'expired' || status === 'revoked')
    return { amount: costUsd(0), bound: TEXT.boundByStatus[status] }
  if (balance === undefined) return { amount: '-', bound: '' }
  const current = bindingBudget(budgeted)
  const ofBudget = current?.window.remaining_micros_usd ?? Number.POSITIVE_INFINITY
  const ofLimit = left ?? Number.POSITIVE_INFINITY
  if (current && ofBudget < Math.min(ofLimit, balance)) {
    const budget = BUDGET_TEXT.a(costUsd(current.limit), current.budget.period)
    return { amount: costUsd(ofBudget), bound: TEXT.boundByBudget(budget) }
  }
  if (ofLimit < balance) return { amount: costUsd(ofLimit), bound: TEXT.boundByLimit }
  return { amount: balanceUsd(balance), bound: TEXT.boundByBalance }
}

type RemainingAmount = { amount: string; bound: string }

export function keyHint({ prefix, last4 }: Pick<ApiKey, 'prefix' | 'last4'>): string {
  return `${prefix}…${last4}`
}
