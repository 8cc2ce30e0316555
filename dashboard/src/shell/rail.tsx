import { useQuery } from '@tanstack/react-query'
import { Link, useLocation } from '@tanstack/react-router'
import { clsx } from 'clsx'
import { useEffect, useRef } from 'react'
import { accountQuery } from '../api/account/account.ts'
import { liveStatus } from '../api/client/live-status.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { isShownTo, NAVIGATION, type NavigationEntry, partOf } from '../navigation.ts'
import { useSignal } from '../signal.ts'
import { setLocalItem } from '../ui/browser/local-storage.ts'
import { lazyPart } from '../ui/feedback/lazy-part.tsx'
import { formatClock } from '../ui/format/time.tsx'
import { AccountMenu } from './account-menu.tsx'
import { BalanceLine } from './balance-line.tsx'
import { FRAME_LOOK as LOOK } from './frame-look.ts'
import { LateIcon } from './late-icon.tsx'

/** After the page: the first load is measured. */
const Bell = lazyPart(() => import('./bell.tsx').then(({ Bell }) => Bell), { failure: () => null })

/** The navigation with the balance and the account: on the left, or on top on a phone. */
export function Rail() {
  return (
    <header className={LOOK.rail}>
      <div className={LOOK.top}>
        <Link to="/" className={LOOK.product}>
          {SHELL_TEXT.product}
        </Link>
        <div className="flex items-center gap-1">
          <div className="md:hidden">
            <BalanceLine />
          </div>
          <Bell />
          <div className="md:hidden">
            <AccountMenu />
          </div>
        </div>
      </div>
      <DisconnectedNotice />
      <Parts />
      <Pages />
      <div className="grid gap-3 border-t border-line px-4 py-4 max-md:hidden md:row-start-4">
        <BalanceLine />
        <LiveIndicator />
        <AccountMenu named />
      </div>
    </header>
  )
}

function Pages() {
  const row = useRef<HTMLElement>(null)
  const path = useLocation({ select: ({ pathname }) => pathname })
  const account = useQuery(accountQuery).data
  // Scrolls the current page into view: on a phone the navigation is a row, and a low window has room for a part of it, which
  // shrinks once the lines below are loaded.
  useEffect(() => {
    const nav = row.current
    if (!nav) return
    const current = () => nav.querySelector('[aria-current=page]')
    const sizes = new ResizeObserver(() => current()?.scrollIntoView({ inline: 'center', block: 'nearest' }))
    sizes.observe(nav)
    return () => sizes.disconnect()
  }, [path, account])
  return (
    <nav ref={row} aria-label={SHELL_TEXT.pages} className={LOOK.pages}>
      {([partOf(path), 'help'] as const).map((part) => (
        <div key={part} className={clsx(LOOK.group, part === 'help' && LOOK.foot)}>
          {NAVIGATION.filter((entry) => entry.part === part && isShownTo(entry, account)).map((entry) => (
            <Entry key={entry.to} entry={entry} path={path} />
          ))}
        </div>
      ))}
    </nav>
  )
}

/** For people who run the gateway: their own account, or the gateway. */
function Parts() {
  const account = useQuery(accountQuery).data
  const here = useLocation({ select: ({ pathname }) => partOf(pathname) })
  const isStaff = account && (account.operator || account.support)
  // The frame of the next load leaves room for it.
  useEffect(() => {
    if (account) setLocalItem('staff', isStaff ? 'true' : null)
  }, [account, isStaff])
  if (!isStaff) return <div className={LOOK.partsRoom} />
  return (
    <nav aria-label={SHELL_TEXT.partSwitch} className={LOOK.parts}>
      {(['account', 'operator'] as const).map((part) => (
        <Link
          key={part}
          to={part === 'account' ? '/' : '/operator'}
          // The router would mark the page alone.
          activeProps={{ 'aria-current': here === part ? 'true' : undefined }}
          aria-current={here === part ? 'true' : undefined}
          className={LOOK.part}
        >
          {SHELL_TEXT.parts[part]}
        </Link>
      ))}
    </nav>
  )
}

function Entry({ entry, path }: { entry: NavigationEntry; path: string }) {
  const { to, label, icon, exact = false, tabs } = entry
  const inside = (
    <>
      <LateIcon name={icon} />
      {label}
    </>
  )
  if (entry.outside)
    return (
      <a href={to} className={LOOK.item}>
        {inside}
      </a>
    )
  return (
    <Link
      to={to}
      activeOptions={{ exact: to === '/' || exact, includeSearch: false }}
      {...(tabs?.some((tab) => tab.to === path) && { 'aria-current': 'page' })}
      className={LOOK.item}
    >
      {inside}
    </Link>
  )
}

/** On a phone there is only room to show problems. */
function DisconnectedNotice() {
  const live = useSignal(liveStatus)
  if (live.state !== 'disconnected') return null
  return (
    <p role="status" className="small bg-warn-soft px-4 py-1 text-warn md:hidden">
      {SHELL_TEXT.asOf(formatClock(live.since))}. {SHELL_TEXT.disconnected}
    </p>
  )
}

/** Whether the data is live and, if not, since when. */
function LiveIndicator() {
  const live = useSignal(liveStatus)
  const words =
    live.state === 'disconnected'
      ? SHELL_TEXT.asOf(formatClock(live.since))
      : live.state === 'live'
        ? SHELL_TEXT.live
        : SHELL_TEXT.connecting
  return (
    <p
      className="small flex items-center gap-2 px-1 text-muted"
      title={live.state === 'disconnected' ? SHELL_TEXT.disconnected : undefined}
    >
      <span
        aria-hidden
        className={`size-2 rounded-full ${live.state === 'live' ? 'bg-ok' : live.state === 'disconnected' ? 'bg-warn' : 'bg-line-strong'}`}
      />
      {words}
    </p>
  )
}
