import { type ReactNode, useEffect, useState } from 'react'
import { UI_TEXT } from '../../messages/ui.ts'

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
