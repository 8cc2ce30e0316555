import { FirstCallSteps } from '../features/first-call/first-call-steps.tsx'
import { ReadinessStatus } from '../features/readiness/readiness-status.tsx'

/** The page at `/`: is the gateway ready, and how a first paid call is made from a terminal. */
export function GettingStarted() {
  return (
    <main className="page">
      <header>
        <h1>Getting started</h1>
        <p className="muted">Three commands in a terminal, from no account to a paid search result.</p>
      </header>
      <ReadinessStatus />
      <FirstCallSteps origin={window.location.origin} />
      <p className="muted">
        Every endpoint, parameter and error: <a href="/docs">API docs</a>. For programs:{' '}
        <a href="/openapi.json">OpenAPI</a>; for agents: <a href="/llms.txt">llms.txt</a>.
      </p>
    </main>
  )
}
