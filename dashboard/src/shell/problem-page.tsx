import { useQueryClient } from '@tanstack/react-query'
import { Link, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { asFailure } from '../api/failure.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { useTitle } from '../ui/page.tsx'
import { KIT_WORDS } from '../words/kit.ts'
import { SHELL_WORDS } from '../words/shell.ts'

const AGAIN_MS = 5_000

/** In the place of a page that could not be shown. A server that is away is asked again by the clock. */
export function ProblemPage({ error }: { error: unknown }) {
  const router = useRouter()
  const queries = useQueryClient()
  const away = asFailure(error).status === 0 && !(error instanceof TypeError)
  useTitle(away ? SHELL_WORDS.serverAway : SHELL_WORDS.broken)
  useEffect(() => {
    if (!away) return
    const timer = setInterval(() => void queries.resetQueries().then(() => router.invalidate()), AGAIN_MS)
    return () => clearInterval(timer)
  }, [away, queries, router])
  return (
    <main className="mx-auto grid max-w-md justify-items-start gap-4 px-4 py-16">
      <h1>{away ? SHELL_WORDS.serverAway : SHELL_WORDS.broken}</h1>
      <p className="text-muted">{away ? SHELL_WORDS.serverAwayText : SHELL_WORDS.brokenText}</p>
      {away ? (
        <Button onClick={() => void router.invalidate()}>{KIT_WORDS.tryAgain}</Button>
      ) : (
        <Button onClick={() => window.location.reload()}>{SHELL_WORDS.reload}</Button>
      )}
    </main>
  )
}

/** Every path that no page lives at. */
export function NotFound() {
  useTitle(SHELL_WORDS.notFound)
  return (
    <main className="mx-auto grid max-w-md justify-items-start gap-4 px-4 py-16">
      <h1>{SHELL_WORDS.notFound}</h1>
      <p className="text-muted">{SHELL_WORDS.notFoundText}</p>
      <Link to="/" className={buttonClass('primary')}>
        {SHELL_WORDS.toOverview}
      </Link>
    </main>
  )
}
