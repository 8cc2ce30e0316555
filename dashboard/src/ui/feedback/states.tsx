import { Link, useRouter } from '@tanstack/react-router'
import { type ReactNode, useEffect, useState } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import { FAILURE_TEXT } from '../../messages/failures.ts'
import { UI_TEXT } from '../../messages/ui.ts'
import { Button, buttonClass } from '../button.tsx'

const SLOW_MS = 200

/** True once something has taken long enough that its absence must be explained. */
export function useIsSlow(waiting: boolean): boolean {
  const [isSlow, setOverdue] = useState(false)
  useEffect(() => {
    if (!waiting) {
      setOverdue(false)
      return
    }
    const timer = setTimeout(() => setOverdue(true), SLOW_MS)
    return () => clearTimeout(timer)
  }, [waiting])
  return isSlow
}

/** Grey rows in the place of what is on its way; nothing in the first 200 ms. */
export function Loading({ rows = 3 }: { rows?: number }) {
  const isSlow = useIsSlow(true)
  return (
    <div role="status" className="grid gap-3 p-4 sm:px-6" style={{ minHeight: rows * 32 }}>
      {isSlow && <span className="sr-only">{UI_TEXT.loading}</span>}
      {isSlow &&
        Array.from({ length: rows }, (_, row) => (
          <div key={row} aria-hidden className="h-5 rounded-md bg-sunken" style={{ width: `${90 - row * 13}%` }} />
        ))}
    </div>
  )
}

/** Nothing here yet, in one sentence, and the one thing to do about it. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="grid justify-items-start gap-3 p-4 pt-1 sm:px-6 sm:pb-6">
      <p className="text-muted">{children}</p>
      {action}
    </div>
  )
}

/** What happened, and what to do. The words of the code where there are some, else the server's own. */
export function failureText(failure: ApiFailure): string {
  return FAILURE_TEXT[failure.code]?.says ?? failure.message
}

/** A failure under what was asked, with the request's id for the one who runs the gateway. */
export function Failed({ failure, onRetry, isStale = false }: FailedProps) {
  return (
    <div
      role="alert"
      className="flex flex-wrap items-center justify-between gap-3 bg-bad-soft px-4 py-3 text-bad sm:px-6"
    >
      <p className="min-w-0">
        {failureText(failure)} {isStale && UI_TEXT.stale}{' '}
        {failure.requestId && <span className="code wrap-anywhere">{UI_TEXT.request(failure.requestId)}</span>}
      </p>
      {onRetry && <Button onClick={onRetry}>{UI_TEXT.tryAgain}</Button>}
    </div>
  )
}

type FailedProps = { failure: ApiFailure; onRetry?: () => void; isStale?: boolean }

/** The words of a failure code, and the button to the page that mends it, once that page is there. */
export function CodeFailure({ code }: { code: string }) {
  const { routesByPath } = useRouter()
  const words = FAILURE_TEXT[code]
  if (!words) return null
  const { button } = words
  return (
    <div className="flex flex-wrap items-center gap-3">
      <p>{words.says}</p>
      {button && button.to in routesByPath && (
        <Link to={button.to} className={buttonClass()}>
          {button.says}
        </Link>
      )}
    </div>
  )
}

/** A failure of a form, in its own words. */
export function FormFailure({ failure }: { failure: ApiFailure | null }) {
  if (failure === null) return null
  return (
    <p role="alert" className="rounded-md bg-bad-soft px-3 py-2 text-bad">
      {failureText(failure)} {failure.requestId && <span className="code">{UI_TEXT.request(failure.requestId)}</span>}
    </p>
  )
}
