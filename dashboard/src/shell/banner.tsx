import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { accountQuery } from '../api/account.ts'
import { NAVIGATION } from '../navigation.ts'
import { SHELL_WORDS } from '../words/shell.ts'

/** The one notice above a page: of those that hold, the weightiest. */
export function Banner() {
  const { data: account } = useQuery(accountQuery)
  const billing = NAVIGATION.find(({ to }) => to === '/billing')
  if (!account || account.balance_micros_usd > 0) return null
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl bg-bad-soft px-4 py-3 text-bad">
      <p>{SHELL_WORDS.banners.empty}</p>
      {billing && (
        <Link to={billing.to} className="font-medium underline">
          {SHELL_WORDS.topUp}
        </Link>
      )}
    </div>
  )
}
