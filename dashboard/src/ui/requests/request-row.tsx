import { REQUEST_TEXT as TEXT } from '../../messages/requests.ts'
import { Badge } from '../badge.tsx'
import { costUsd } from '../format/money.ts'

/** One row of the request log. */
export interface RequestRow {
  readonly id: string
  readonly client_request_id: string | null
  readonly at: string
  readonly key_id: string
  readonly operation: string
  readonly model: string | null
  readonly status: number
  readonly code: string | null
  readonly input_tokens: number
  readonly output_tokens: number
  readonly cache_read_tokens: number
  readonly cache_write_tokens: number
  readonly usage_source: 'exact' | 'estimated' | null
  readonly cost_micros_usd: number
  readonly refunded_micros_usd: number
  readonly latency_ms: number
  readonly ip: string
  readonly repeats: number
}

/** The status of a request and, if it failed, the code. */
export function StatusBadge({ status, code, repeats = 0 }: StatusProps) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>
      {code !== null && <span className="code text-muted max-sm:wrap-anywhere">{code}</span>}
      {repeats > 0 && <span className="text-muted">{TEXT.repeated(repeats + 1)}</span>}
    </span>
  )
}

/** What a request cost, and how much of it was given back. */
export function requestCost({ cost_micros_usd: cost, refunded_micros_usd: refunded }: CostProps): string {
  return refunded > 0 ? TEXT.costOf(costUsd(cost), costUsd(refunded)) : costUsd(cost)
}

type CostProps = Pick<RequestRow, 'cost_micros_usd' | 'refunded_micros_usd'>
type StatusProps = Pick<RequestRow, 'status' | 'code'> & { repeats?: number }
