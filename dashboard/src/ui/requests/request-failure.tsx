import type { ApiFailure } from '../../api/client/failure.ts'
import { NextStep } from '../feedback/failure.tsx'

/** Why a request of a key failed, in the server's words, and what to do next. */
export function RequestFailure({ failure }: { failure: ApiFailure }) {
  return (
    <div className="grid justify-items-start gap-3">
      <p role="alert" className="text-bad wrap-anywhere">
        {failure.message}
      </p>
      <NextStep failure={failure} place="request" />
    </div>
  )
}
