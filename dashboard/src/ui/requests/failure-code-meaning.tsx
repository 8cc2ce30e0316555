import { FAILURE_MEANINGS } from '../../../../server/http/openapi/failure-meanings.ts'
import { ActionOf } from '../feedback/failure.tsx'

/** The documented meaning of a code, and what to do next. For the log, which does not store messages. */
export function FailureCodeMeaning({ code, caller }: { code: string; caller?: string | undefined }) {
  return (
    <div className="grid justify-items-start gap-3">
      <p>{meaningOf(code)}</p>
      <ActionOf code={code} place="request" caller={caller} />
    </div>
  )
}

/** Removes the Markdown of a meaning. An upstream's own code has none. */
function meaningOf(code: string): string | null {
  const meaning: unknown = Object.hasOwn(FAILURE_MEANINGS, code) ? Reflect.get(FAILURE_MEANINGS, code) : null
  return typeof meaning === 'string' ? meaning.replaceAll('`', '') : null
}
