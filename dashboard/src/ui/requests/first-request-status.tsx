import type { ReactNode } from 'react'
import { FIRST_RUN_TEXT as TEXT } from '../../messages/first-run.ts'
import { costUsd } from '../format/money.ts'
import { FailureCodeMeaning } from './failure-code-meaning.tsx'

export interface FirstRequestOutcome {
  readonly status: number
  readonly code: string | null
  readonly cost_micros_usd: number
  readonly latency_ms: number
}

/** Waits for the first request, then shows its outcome. Announced once, not for each request. */
export function FirstRequestStatus({
  request,
  children,
}: {
  request: FirstRequestOutcome | null
  children?: ReactNode
}) {
  if (request === null)
    return (
      <p role="status" className="flex items-center gap-2 text-muted">
        <span aria-hidden className="size-2 rounded-full bg-line-strong" />
        {TEXT.waiting}
      </p>
    )
  const { status, code, cost_micros_usd: cost, latency_ms: ms } = request
  if (status < 400 || code === null)
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
      <FailureCodeMeaning code={code} />
    </div>
  )
}
