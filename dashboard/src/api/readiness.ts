import { queryOptions } from '@tanstack/react-query'

/** What `/ready` said. `waitingFor` names the checks that do not pass yet. */
export type Readiness = { ready: boolean; waitingFor: readonly string[] }

/** Asks often while the gateway starts or is away, seldom once it is ready. Throws when nothing answers. */
export const readinessQuery = queryOptions({
  queryKey: ['readiness'],
  queryFn: ({ signal }) => fetchReadiness(signal),
  refetchInterval: (query) => (query.state.status === 'success' && query.state.data?.ready ? 15_000 : 2_000),
})

async function fetchReadiness(signal: AbortSignal): Promise<Readiness> {
  const response = await fetch('/ready', { signal, headers: { accept: 'application/json' } })
  if (response.status !== 200 && response.status !== 503) throw new Error(`/ready answered ${response.status}`)
  return { ready: response.status === 200, waitingFor: failingChecks(await response.json()) }
}

function failingChecks(body: unknown): string[] {
  if (!isObject(body) || !('checks' in body) || !isObject(body.checks)) return []
  return Object.entries(body.checks)
    .filter(([, state]) => state !== true && state !== 'ok')
    .map(([name]) => name)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
