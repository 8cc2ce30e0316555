import { MutationCache, QueryCache, QueryClient } from '@tanstack/react-query'
import { recentSignInRequired, sessionEnded } from '../../session-state.ts'
import { type ApiFailure, toApiFailure } from './failure.ts'

const MAX_RETRIES = 2
const MAX_SPREAD_MS = 2_000

function onError(error: unknown): void {
  const { code } = toApiFailure(error)
  if (code === 'missing_session') sessionEnded.set(true)
  // Removed from the workspace that this page shows: the session shows another one.
  if (code === 'not_a_member') window.location.assign('/')
  if (code === 'recent_sign_in_required') recentSignInRequired.set(true)
}

/**
 * Refusals are final, except that a read waits for its limit. Calls without a response are retried at most twice. Writes are never
 * retried.
 */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError }),
  mutationCache: new MutationCache({ onError }),
  defaultOptions: {
    queries: {
      staleTime: 15_000,
      // The gateway may run on this machine, so it can be reachable while the browser is offline.
      networkMode: 'always',
      retry: (failures, error) => failures < MAX_RETRIES && !isRefusal(toApiFailure(error)),
      retryDelay: (attempt, error) => waitOf(toApiFailure(error)) ?? 500 * 2 ** attempt,
    },
    mutations: { networkMode: 'always', retry: false },
  },
})

function isRefusal(failure: ApiFailure): boolean {
  return failure.status >= 400 && failure.status < 500 && waitOf(failure) === null
}

/** How long the server asks to wait, up to a little more than a minute, so that not all tabs come back in the same moment. */
function waitOf({ status, retryAfterSeconds }: ApiFailure): number | null {
  if (status !== 429 || retryAfterSeconds === null || retryAfterSeconds > 60) return null
  return retryAfterSeconds * 1000 + Math.random() * MAX_SPREAD_MS
}
