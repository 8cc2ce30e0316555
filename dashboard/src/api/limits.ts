import { queryOptions } from '@tanstack/react-query'
import { answered, api } from './client.ts'

/** The tier's numbers, and what each key has left of this minute. */
export const limitsQuery = queryOptions({ queryKey: ['limits'], queryFn: () => answered(api.limits.get()) })
