import { useEffect, useState } from 'react'
import { LOW_BALANCE_MICROS } from '../api/account.ts'
import { keepMark, localMark } from '../ui/local-storage.ts'

const PLACE = 'low-balance-hidden'

interface Money {
  readonly id: string
  readonly balance_micros_usd: number
  readonly topped_up_micros_usd: number
}

/**
 * Whether to tell that the balance is low, and how to hide it. Only to who ever topped up: signup credit is there to be used up.
 * Hidden, it comes again when the balance was above the threshold and falls below it anew.
 */
export function useLowBalance(account: Money | undefined) {
  const [hidden, setHidden] = useState(() => localMark(PLACE))
  const isLow =
    account !== undefined && account.topped_up_micros_usd > 0 && account.balance_micros_usd < LOW_BALANCE_MICROS
  const isAbove = account !== undefined && !isLow && account.id === hidden
  const hide = (id: string | null) => {
    keepMark(PLACE, id)
    setHidden(id)
  }
  useEffect(() => {
    if (!isAbove) return
    keepMark(PLACE, null)
    setHidden(null)
  }, [isAbove])
  return { isLow: isLow && hidden !== account.id, hide: () => hide(account?.id ?? null) }
}
