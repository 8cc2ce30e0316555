import { queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** What to count: a span in UNIX seconds, how fine, and which calls. */
export interface UsageAsked {
  readonly start_time: number
  readonly end_time: number
  readonly bucket_width: '1h' | '1d'
  readonly timezone: string
  readonly key?: string
  readonly operation?: string
  readonly status?: number
  readonly group_by?: 'key' | 'operation' | 'status' | 'model'
}

export const TIME_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone

export const usageQuery = (asked: UsageAsked) =>
  queryOptions({
    queryKey: ['usage', asked],
    queryFn: () => answered(api.usage.get({ query: { ...asked } })),
    placeholderData: (before) => before,
  })
