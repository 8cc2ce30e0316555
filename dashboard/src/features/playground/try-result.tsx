import type { ApiFailure } from '../../api/client/failure.ts'
import type { TryResponse } from '../../api/playground/try-call.ts'
import { PLAYGROUND_TEXT as TEXT } from '../../messages/playground.ts'
import { FormFailure } from '../../ui/feedback/failure.tsx'
import { lazyPart } from '../../ui/feedback/lazy-part.tsx'
import { Card } from '../../ui/layout/card.tsx'

const ResponseDetails = lazyPart(() => import('./response-details.tsx').then(({ ResponseDetails }) => ResponseDetails))

/** Call it with the request: the code that shows the answer then arrives before the answer. */
export const preloadResult = ResponseDetails.preload

/** The result of a call: status, time, cost, explained headers, and the response. */
export function TryResult({ response, failure }: { response: TryResponse | null; failure: ApiFailure | null }) {
  return (
    <Card title={TEXT.result}>
      <FormFailure failure={failure} />
      {response === null && failure === null && <p className="text-muted">{TEXT.none}</p>}
      {response && <ResponseDetails response={response} />}
    </Card>
  )
}
