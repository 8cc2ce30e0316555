import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { accountQuery } from '../api/account.ts'
import { keysQuery } from '../api/keys.ts'
import { NAVIGATION } from '../navigation.ts'
import { SHELL_WORDS } from '../words/shell.ts'

const WORDS = SHELL_WORDS.banners

/** The one notice above a page: of those that hold, the weightiest. */
export function Banner() {
  const { data: account } = useQuery(accountQuery)
  const spent = useInfiniteQuery(keysQuery({ status: 'exhausted' })).data?.pages[0]
  const billing = NAVIGATION.find(({ to }) => to === '/billing')
  if (account && account.balance_micros_usd <= 0)
    return (
      <Notice text={WORDS.empty}>
        {billing && (
          <Link to={billing.to} className="font-medium underline">
            {SHELL_WORDS.topUp}
          </Link>
        )}
      </Notice>
    )
  const first = spent?.keys[0]
  if (!first) return null
  const count = spent.counts.exhausted
  return (
    <Notice text={count === 1 ? WORDS.exhausted(first.name) : WORDS.exhaustedMany(count)}>
      <Link to="/keys" search={{ status: 'exhausted' }} className="font-medium underline">
        {WORDS.seeKeys}
      </Link>
    </Notice>
  )
}

function Notice({ text, children }: { text: string; children: ReactNode }) {
  return (
    <div className="flex flex-wrap items-center justify-between gap-3 rounded-xl bg-bad-soft px-4 py-3 text-bad">
      <p>{text}</p>
      {children}
    </div>
  )
}
