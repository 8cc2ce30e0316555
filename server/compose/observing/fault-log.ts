import type { OnFault } from '../../http/middleware/response/failures'
import type { Log } from '../../log'

/** Logs what made a request fail that should not have. */
export function faultLog(log: Log): OnFault {
  return (requestId, error) => log.error('request failed', { requestId, reason: stackOf(error) })
}

/** The stack of an error's cause, without the parameters of a failed SQL statement. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const cause = error.cause instanceof Error ? error.cause : error
  return cause.stack ?? cause.message
}
