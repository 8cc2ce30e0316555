import { QueryClient } from '@tanstack/react-query'

/** A failed read is shown at once and asked again by its own interval, so it is not retried in silence before. */
export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: false, staleTime: 15_000, networkMode: 'always' } },
})
