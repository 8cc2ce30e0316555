import type { ReactNode } from 'react'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { CodeFailure } from '../feedback/states.tsx'
import { costUsd } from '../format/money.ts'

export interface FirstRequestOutcome {
  readonly status: number
  readonly code: string | null
  readonly cost_micros_usd: number
  readonly latency_ms: number
}

/** Waits for a request, then tells how it ended. Read out once, not for each request. */
export function FirstRequestStatus({
  arrived,
  children,
}: {
  arrived: FirstRequestOutcome | null
  children?: ReactNode
}) {
  if (arrived === null)
    return (
      <p role="status" className="flex items-center gap-2 text-muted">
        <span aria-hidden className="size-2 rounded-full bg-line-strong" />
        {TEXT.waiting}
      </p>
    )
  const { status, code, cost_micros_usd: cost, latency_ms: ms } = arrived
  if (code === null)
    return (
      <div role="status" className="grid gap-1">
        <p className="flex items-center gap-2 font-medium text-ok">
          <span aria-hidden className="size-2 rounded-full bg-ok" />
          {TEXT.received(status, costUsd(cost), ms)}
        </p>
        {children}
      </div>
    )
  return (
    <div role="status" className="grid gap-2">
      <p className="font-medium text-bad">{TEXT.failed(status, code)}</p>
      <CodeFailure code={code} />
    </div>
  )
}
