import { Badge } from '../badge.tsx'

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
  readonly latency_ms: number
  readonly ip: string
}

/** The status of a request and, if it failed, the code. */
export function StatusBadge({ status, code }: Pick<RequestRow, 'status' | 'code'>) {
  return (
    <span className="flex flex-wrap items-center gap-x-2">
      <Badge tone={status < 400 ? 'ok' : status < 500 ? 'warn' : 'bad'}>{status}</Badge>
      {code !== null && <span className="code text-muted max-sm:wrap-anywhere">{code}</span>}
    </span>
  )
}
