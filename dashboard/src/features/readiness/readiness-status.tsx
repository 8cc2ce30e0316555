import { useQuery } from '@tanstack/react-query'
import { readinessQuery } from '../../api/readiness.ts'
import { StatusLine } from '../../ui/status-line.tsx'

/** Whether the gateway takes calls, in words. Kept up to date while the page is open. */
export function ReadinessStatus() {
  const { data, status } = useQuery(readinessQuery)
  if (status === 'pending') return <StatusLine tone="neutral" badge="Checking" text="Asking the gateway." />
  if (status === 'error') {
    return (
      <StatusLine tone="bad" badge="No answer" text="The gateway did not answer. Check that it is still running." />
    )
  }
  if (data.ready) return <StatusLine tone="ok" badge="Ready" text="The gateway takes calls." />
  return <StatusLine tone="warn" badge="Not ready" text={`The gateway is running. ${reason(data.waitingFor)}`} />
}

function reason(waitingFor: readonly string[]): string {
  return waitingFor.length === 0 ? 'It does not take calls yet.' : `It waits for: ${waitingFor.join(', ')}.`
}
