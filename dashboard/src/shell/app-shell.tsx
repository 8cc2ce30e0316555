import { useQueryClient } from '@tanstack/react-query'
import { Outlet } from '@tanstack/react-router'
import { lazy, type ReactNode, Suspense, useEffect } from 'react'
import { subscribeToEvents } from '../api/client/live-events.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { useSignal } from '../signal.ts'
import { preloadDialogs } from '../ui/dialogs/dialog.tsx'
import { toastsWanted } from '../ui/feedback/toast.ts'
import { preloadMenus } from '../ui/menus/menu.tsx'
import { Banner } from './banner.tsx'
import { PageFocus } from './page-focus.tsx'
import { PaletteKey } from './palette-shortcut.tsx'
import { Rail } from './rail.tsx'
import { SessionEnded } from './session-dialog.tsx'

/** Late enough for the figures of a page to have loaded, even on a slow connection. */
const STILL_MS = 1_500

const loadToaster = () => import('../ui/feedback/toaster.tsx')
const Toaster = lazy(() => loadToaster().then(({ Toaster }) => ({ default: Toaster })))

/** The frame around every page of a signed-in owner: navigation, banner, page, toasts, and the live events. */
export function AppShell({ children = <Outlet /> }: { children?: ReactNode }) {
  const queries = useQueryClient()
  const toasts = useSignal(toastsWanted)
  useEffect(() => subscribeToEvents(queries), [queries])
  useEffect(fetchWhatFailuresNeed, [])
  return (
    <div className="mx-auto max-w-7xl md:grid md:grid-cols-[208px_minmax(0,1fr)]">
      <SkipLink />
      <Rail />
      <main id="main" tabIndex={-1} className="grid min-w-0 grid-cols-1 content-start gap-6 px-4 py-6 md:px-8 md:py-8">
        <Banner />
        {children}
      </main>
      <PageFocus />
      <PaletteKey />
      <SessionEnded />
      {toasts && (
        <Suspense>
          <Toaster />
        </Suspense>
      )}
    </div>
  )
}

/** Preloads what shows failures once the page is idle, because it cannot be loaded while the server is down. */
function fetchWhatFailuresNeed(): () => void {
  const timer = setTimeout(() => void Promise.all([loadToaster(), preloadMenus(), preloadDialogs()]), STILL_MS)
  return () => clearTimeout(timer)
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
