import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { recentSignInRequired, sessionEnded } from '../../session-state.ts'
import { toFailure } from './failure.ts'

const MAX_RETRIES = 2

function onError(error: unknown): void {
  const { code } = toFailure(error)
  if (code === 'missing_session') sessionEnded.set(true)
  if (code === 'recent_sign_in_required') recentSignInRequired.set(true)
}

/** What was refused stays refused; what was not answered is asked again, twice at most. Writes are never repeated. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // The server may be this very machine: the browser's idea of being online says nothing about it.
      networkMode: 'always',
      retry: (failures, error) => failures < MAX_RETRIES && !isRefusal(toFailure(error).status),
      retryDelay: (attempt) => 500 * 2 ** attempt,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500
}
