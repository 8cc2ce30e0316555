import { logMeaning } from '../../../../server/http/openapi/failure-meanings.ts'
import { ActionOf } from '../feedback/failure.tsx'

/** The meaning of a code in the request log, and what to do next. A row of the log has no message; the page of a request shows it as well. */
export function FailureCodeMeaning({ code, caller }: { code: string; caller?: string | undefined }) {
  return (
    <div className="grid justify-items-start gap-3">
      <p>{logMeaning(code)}</p>
      <ActionOf code={code} place="request" caller={caller} />
    </div>
  )
}
