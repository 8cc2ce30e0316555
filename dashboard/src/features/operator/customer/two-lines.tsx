import type { ReactNode } from 'react'

/** A cell of two lines. */
export function Two({ first, second }: { first: ReactNode; second: string | null }) {
  return (
    <span className="grid min-w-24">
      <span className="wrap-anywhere">{first}</span>
      {second && <span className="small font-normal text-muted wrap-anywhere">{second}</span>}
    </span>
  )
}
