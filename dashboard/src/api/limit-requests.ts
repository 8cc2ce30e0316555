import { queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** The owner's requests for higher limits, newest first. Their key begins with `limits`, so that a decision's event renews them. */
export const limitRequestsQuery = queryOptions({
  queryKey: ['limits', 'requests'],
  queryFn: () => answered(api['limit-requests'].get({ query: { limit: 20 } })),
})

export type LimitRequest = Awaited<ReturnType<typeof fetchRequests>>['requests'][number]

function fetchRequests() {
  return answered(api['limit-requests'].get())
}

export interface LimitRequestForm {
  readonly peak_rpm: number
  readonly peak_tpm: number
  readonly endpoints: readonly string[]
  readonly use_case: string
}

export const requestLimits = (wish: LimitRequestForm) => answered(api['limit-requests'].post({ ...wish }))
