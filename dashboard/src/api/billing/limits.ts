import { queryOptions } from '@tanstack/react-query'
import { api, unwrap } from '../client/client.ts'

/** The tier's limits, and what each key has left in the current minute. */
export const limitsQuery = queryOptions({ queryKey: ['limits'], queryFn: () => unwrap(api.limits.get()) })

/**
 * The owner's requests for higher limits, newest first. The query key starts with `limits`, so that the event of a decision
 * refreshes it.
 */
export const limitRequestsQuery = queryOptions({
  queryKey: ['limits', 'requests'],
  queryFn: () => unwrap(api['limit-requests'].get({ query: { limit: 20 } })),
})

export type LimitRequest = Awaited<ReturnType<typeof fetchRequests>>['requests'][number]

function fetchRequests() {
  return unwrap(api['limit-requests'].get())
}

export interface LimitRequestInput {
  readonly peak_rpm: number
  readonly peak_tpm: number
  readonly endpoints: readonly string[]
  readonly use_case: string
}

export const submitLimitRequest = (input: LimitRequestInput) => unwrap(api['limit-requests'].post({ ...input }))
