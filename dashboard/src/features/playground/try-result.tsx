import { lazy, Suspense } from 'react'
import type { ApiFailure } from '../../api/client/failure.ts'
import type { TryResponse } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { Card } from '../../ui/layout/card.tsx'

const loadDetails = () => import('./response-details.tsx')
const ResponseDetails = lazy(() => loadDetails().then(({ ResponseDetails }) => ({ default: ResponseDetails })))

/** Call it with the request: the code that shows the answer then arrives before the answer. */
export function preloadResult(): void {
  // Shown again by the page if it fails there too.
  loadDetails().catch(() => undefined)
}

/** The result of a call: status, time, cost, explained headers, and the response. */
export function TryResult({ response, failure }: { response: TryResponse | null; failure: ApiFailure | null }) {
  return (
    <Card title={TEXT.result}>
      <FormFailure failure={failure} />
      {response === null && failure === null && <p className="text-muted">{TEXT.none}</p>}
      {response && (
        <Suspense>
          <ResponseDetails response={response} />
        </Suspense>
      )}
    </Card>
  )
}
