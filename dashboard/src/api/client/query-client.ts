import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { recentSignInRequired, sessionEnded } from '../../session-state.ts'
import { toApiFailure } from './failure.ts'

const MAX_RETRIES = 2

function onError(error: unknown): void {
  const { code } = toApiFailure(error)
  if (code === 'missing_session') sessionEnded.set(true)
  if (code === 'recent_sign_in_required') recentSignInRequired.set(true)
}

/** Refusals are final. Calls without a response are retried at most twice. Writes are never retried. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // The gateway may run on this machine, so it can be reachable while the browser is offline.
      networkMode: 'always',
      retry: (failures, error) => failures < MAX_RETRIES && !isRefusal(toApiFailure(error).status),
      retryDelay: (attempt) => 500 * 2 ** attempt,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

function isRefusal(status: number): boolean {
  return status >= 400 && status < 500
}
