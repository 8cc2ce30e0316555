import { type ReactNode, useEffect, useState } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'

const SLOW_MS = 200

/** True after a delay, when something takes long enough to need an explanation. */
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

/** Gray placeholder rows while data loads. Hidden for the first 200 ms. */
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

/** An empty state: one sentence and one action. */
export function Empty({ children, action }: { children: ReactNode; action?: ReactNode }) {
  return (
    <div className="grid justify-items-start gap-3 px-4 pt-1 pb-4 in-data-bare:pt-4 sm:px-6 sm:pb-6">
      <p className="text-muted">{children}</p>
      {action}
    </div>
  )
}
