import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { accountQuery } from '../api/account/account.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { tabsOf } from '../navigation.ts'

/** Links to the other pages of the same entry of the rail, above each of them. */
export function PageTabs() {
  const account = useQuery(accountQuery).data
  const path = useLocation({ select: ({ pathname }) => pathname })
  const tabs = tabsOf(path, account)
  if (tabs.length === 0) return null
  return (
    <nav aria-label={SHELL_TEXT.pageTabs} className="flex flex-wrap gap-1 border-b border-line">
      {tabs.map(({ to, label }) => (
        <Link
          key={to}
          to={to}
          className="control -mb-px flex items-center rounded-none border-b-2 border-transparent px-3 no-underline hover:text-text aria-[current=page]:border-accent aria-[current=page]:font-medium aria-[current=page]:text-accent"
        >
          {label}
        </Link>
      ))}
    </nav>
  )
}
