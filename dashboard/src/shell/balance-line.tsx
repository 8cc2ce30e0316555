import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accountQuery, LOW_BALANCE_MICROS } from '../api/account/account.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { NAVIGATION } from '../navigation.ts'
import { Badge } from '../ui/badge.tsx'
import { balanceUsd, costUsd } from '../ui/format/money.ts'

/** The balance and the tier, with a link to top up. */
export function BalanceLine() {
  const { data: account } = useQuery(accountQuery)
  if (!account) return <div className="h-6" />
  const { balance_micros_usd: balance, tier } = account
  const billing = NAVIGATION.find(({ to }) => to === '/billing')
  return (
    <div className="flex flex-wrap items-center justify-between gap-x-2 px-1">
      <span className="flex items-center gap-2">
        <span className="sr-only">{SHELL_TEXT.balance}</span>
        <span className={`font-semibold ${balance < LOW_BALANCE_MICROS ? 'text-warn' : ''}`} title={costUsd(balance)}>
          {balanceUsd(balance)}
        </span>
        {/* On a narrow phone the longest tier would push the menu out of sight. */}
        <span className="max-[27rem]:hidden">
          <Badge>{SHELL_TEXT.tiers[tier]}</Badge>
        </span>
      </span>
      {billing && (
        <Link to={billing.to} className="whitespace-nowrap text-accent max-md:hidden">
          {SHELL_TEXT.topUp}
        </Link>
      )}
    </div>
  )
}
