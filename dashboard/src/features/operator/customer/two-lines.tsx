import type { ReactNode } from 'react'
import { TimeAgo } from '../../../ui/format/time.tsx'

/** A cell of two lines. With `at` for a card, which has no column for the time. */
export function Two({ first, second, at }: { first: ReactNode; second: string | null; at?: string }) {
  return (
    <span className="grid min-w-0">
      <span className="wrap-anywhere">{first}</span>
      {second && <span className="small text-muted wrap-anywhere">{second}</span>}
      {at && (
        <span className="small text-muted">
          <TimeAgo at={at} />
        </span>
      )}
    </span>
  )
}
