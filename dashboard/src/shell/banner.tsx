import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { clsx } from 'clsx'
import type { ReactNode } from 'react'
import { useEffect, useState } from 'react'
import { accountQuery, LOW_BALANCE_MICROS } from '../api/account/account.ts'
import { keysQuery } from '../api/keys.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { NAVIGATION } from '../navigation.ts'
import { getLocalItem, setLocalItem } from '../ui/browser/local-storage.ts'
import { Button } from '../ui/button.tsx'
import { balanceUsd } from '../ui/format/money.ts'

const TEXT = SHELL_TEXT.banners

/** The notice above every page: only the most important one is shown. */
export function Banner() {
  const { data: account } = useQuery(accountQuery)
  const spent = useInfiniteQuery(keysQuery({ status: 'exhausted' })).data?.pages[0]
  const low = useLowBalance(account)
  // The Billing page shows this itself.
  const here = useLocation({ select: ({ pathname }) => pathname })
  if (account && account.balance_micros_usd <= 0)
    return (
      <Notice text={emptyText(account)}>
        <ToTopUp />
      </Notice>
    )
  const first = spent?.keys[0]
  const isHidden = useHiddenKeys(spent?.keys.map(({ id }) => id) ?? [])
  // The overview and the list of keys show it themselves.
  if (!first || isHidden.value || here === '/' || here.startsWith('/keys'))
    return account && low.isLow && here !== '/billing' ? (
      <Notice text={TEXT.low(balanceUsd(account.balance_micros_usd))} tone="warn">
        <span className="flex items-center gap-2">
          <ToTopUp />
          <Button tone="quiet" onClick={low.hide}>
            {TEXT.hide}
          </Button>
        </span>
      </Notice>
    ) : null
  const count = spent.counts.exhausted
  return (
    <Notice text={count === 1 ? TEXT.exhausted(first.name) : TEXT.exhaustedMany(count)}>
      <span className="flex items-center gap-2">
        <Link to="/keys" search={{ status: 'exhausted' }} className="font-medium underline">
          {TEXT.seeKeys}
        </Link>
        <Button tone="quiet" onClick={isHidden.hide}>
          {TEXT.hide}
        </Button>
      </span>
    </Notice>
  )
}

function emptyText({ signup_credit: credit, topped_up_micros_usd: toppedUp }: Money): string {
  const refused = credit === 'network_limit' || credit === 'daily_limit'
  return refused && toppedUp === 0 ? TEXT.noCredit[credit] : TEXT.empty
}

function ToTopUp() {
  const billing = NAVIGATION.find(({ to }) => to === '/billing')
  return (
    billing && (
      <Link to={billing.to} className="font-medium underline">
        {SHELL_TEXT.topUp}
      </Link>
    )
  )
}

const TONES = { bad: 'bg-bad-soft text-bad', warn: 'bg-warn-soft text-warn' } as const

function Notice({ text, tone = 'bad', children }: { text: string; tone?: keyof typeof TONES; children: ReactNode }) {
  return (
    <div className={clsx('flex flex-wrap items-center justify-between gap-3 rounded-xl px-4 py-3', TONES[tone])}>
      <p>{text}</p>
      {children}
    </div>
  )
}

const HIDDEN_KEYS = 'exhausted-keys-hidden'

/** Whether the notice about these keys was hidden. It is shown again when another key reaches its limit. */
function useHiddenKeys(ids: readonly string[]) {
  const [hidden, setHidden] = useState(() => getLocalItem(HIDDEN_KEYS)?.split(' ') ?? [])
  const hide = () => {
    setLocalItem(HIDDEN_KEYS, ids.join(' '))
    setHidden([...ids])
  }
  return { value: ids.every((id) => hidden.includes(id)), hide }
}

const STORAGE_KEY = 'low-balance-hidden'

interface Money {
  readonly id: string
  readonly balance_micros_usd: number
  readonly signup_credit: string
  readonly topped_up_micros_usd: number
}

/**
 * Whether the low-balance notice is shown, and how to hide it. Only for accounts that have topped up, because signup credit is
 * meant to be used up. Once hidden, it is shown again after the balance has risen above the threshold and fallen below it.
 */
function useLowBalance(account: Money | undefined) {
  const [hidden, setHidden] = useState(() => getLocalItem(STORAGE_KEY))
  const isLow =
    account !== undefined && account.topped_up_micros_usd > 0 && account.balance_micros_usd < LOW_BALANCE_MICROS
  const isAbove = account !== undefined && !isLow && account.id === hidden
  const hide = (id: string | null) => {
    setLocalItem(STORAGE_KEY, id)
    setHidden(id)
  }
  useEffect(() => {
    if (!isAbove) return
    setLocalItem(STORAGE_KEY, null)
    setHidden(null)
  }, [isAbove])
  return { isLow: isLow && hidden !== account.id, hide: () => hide(account?.id ?? null) }
}
