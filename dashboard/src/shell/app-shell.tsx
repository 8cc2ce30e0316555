import { Outlet } from '@tanstack/react-router'
import { type ReactNode, useEffect } from 'react'
import { liveStatus } from '../api/client/live-status.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { useSignal } from '../signal.ts'
import { preloadDialogs } from '../ui/dialogs/dialog.tsx'
import { lazyPart, preloadParts } from '../ui/feedback/lazy-part.tsx'
import { toastsWanted } from '../ui/feedback/toast.ts'
import { preloadMenus } from '../ui/menus/menu.tsx'
import { FRAME_LOOK as LOOK } from './frame-look.ts'
import { PageFocus } from './page-focus.tsx'
import { PageTabs } from './page-tabs.tsx'
import { PaletteKey } from './palette-shortcut.tsx'
import { Rail } from './rail.tsx'
import { SessionEnded } from './session-dialog.tsx'

/** Late enough for the figures of a page to have loaded, even on a slow connection. */
const STILL_MS = 1_500
/** Late enough for a visit of one page. */
const IDLE_MS = 4_000
const RETRY_MS = 5_000

// Not needed for the first paint.
const Toaster = lazyPart(() => import('../ui/feedback/toaster.tsx').then(({ Toaster }) => Toaster))
const Banner = lazyPart(() => import('./banner.tsx').then(({ Banner }) => Banner), { failure: () => null })
const LiveEvents = lazyPart(() => import('./live-events.tsx').then(({ LiveEvents }) => LiveEvents), {
  failure: EventsMissing,
})

/** The frame around every page of a signed-in owner: navigation, banner, page, toasts, and the live events. */
export function AppShell({ children = <Outlet /> }: { children?: ReactNode }) {
  const toasts = useSignal(toastsWanted)
  useEffect(preloadLater, [])
  return (
    <div className={LOOK.frame}>
      <SkipLink />
      <Rail />
      <main id="main" tabIndex={-1} className={LOOK.main}>
        <Banner />
        <PageTabs />
        {children}
      </main>
      <PageFocus />
      <PaletteKey />
      <SessionEnded />
      <LiveEvents />
      {toasts && <Toaster />}
    </div>
  )
}

/**
 * Loads the rest of the dashboard while the page is idle, because nothing can be loaded while the gateway is away: first what shows
 * failures, then the other pages and dialogs.
 */
function preloadLater(): () => void {
  const first = setTimeout(() => void Promise.all([Toaster.preload(), preloadMenus(), preloadDialogs()]), STILL_MS)
  const rest = setTimeout(() => void preloadParts(), IDLE_MS)
  return () => [first, rest].forEach(clearTimeout)
}

/** Without its code there are no events: says so, and tries again. */
function EventsMissing({ onRetry }: { onRetry: () => void }) {
  useEffect(() => {
    if (liveStatus.value.state !== 'disconnected') liveStatus.set({ state: 'disconnected', since: Date.now() })
    const timer = setTimeout(onRetry, RETRY_MS)
    return () => clearTimeout(timer)
  }, [onRetry])
  return null
}

function SkipLink() {
  return (
    <a
      href="#main"
      className="sr-only rounded-md bg-surface px-4 py-2 focus:not-sr-only focus:fixed focus:top-2 focus:left-2 focus:z-50"
    >
      {SHELL_TEXT.skip}
    </a>
  )
}
