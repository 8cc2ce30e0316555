import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { ApiFailure, toApiFailure } from '../api/client/failure.ts'
import { SHELL_TEXT } from '../messages/shell.ts'
import { UI_TEXT } from '../messages/ui.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useTitle } from '../ui/layout/page.tsx'

const AGAIN_MS = 5_000

/** Replaces a page that could not be displayed. Polls while the server cannot be reached. */
export function ProblemPage({ error }: { error: unknown }) {
  const router = useRouter()
  const queries = useQueryClient()
  const failure = toApiFailure(error)
  const away = failure.status === 0 && !(error instanceof TypeError)
  const text = away ? SHELL_TEXT.serverAwayText : error instanceof ApiFailure ? failure.message : SHELL_TEXT.brokenText
  useTitle(away ? SHELL_TEXT.serverAway : SHELL_TEXT.broken)
  useEffect(() => {
    if (!away) return
    const timer = setInterval(() => void queries.resetQueries().then(() => router.invalidate()), AGAIN_MS)
    return () => clearInterval(timer)
  }, [away, queries, router])
  return (
    <main className="mx-auto grid max-w-md justify-items-start gap-4 px-4 py-16">
      <h1>{away ? SHELL_TEXT.serverAway : SHELL_TEXT.broken}</h1>
      <p className="text-muted">{text}</p>
      {away ? (
        <Button onClick={() => void router.invalidate()}>{UI_TEXT.tryAgain}</Button>
      ) : (
        <Button onClick={() => window.location.reload()}>{SHELL_TEXT.reload}</Button>
      )}
    </main>
  )
}

/** In place of a page whose code could not be loaded. The shell around it stays. Tries again by itself. */
export function PageNotLoaded({ onRetry }: { onRetry: () => void }) {
  useTitle(SHELL_TEXT.serverAway)
  useEffect(() => {
    const timer = setTimeout(onRetry, AGAIN_MS)
    return () => clearTimeout(timer)
  }, [onRetry])
  return (
    <div role="alert" className="grid justify-items-start gap-4">
      <h1>{SHELL_TEXT.serverAway}</h1>
      <p className="text-muted">{SHELL_TEXT.pageNotLoaded}</p>
      <Button onClick={onRetry}>{UI_TEXT.tryAgain}</Button>
    </div>
  )
}

/** The page for unknown paths. */
export function NotFound() {
  useTitle(SHELL_TEXT.notFound)
  return (
    <main className="mx-auto grid max-w-md justify-items-start gap-4 px-4 py-16">
      <h1>{SHELL_TEXT.notFound}</h1>
      <p className="text-muted">{SHELL_TEXT.notFoundText}</p>
      <Link to="/" className={buttonClass('primary')}>
        {SHELL_TEXT.toOverview}
      </Link>
    </main>
  )
}
