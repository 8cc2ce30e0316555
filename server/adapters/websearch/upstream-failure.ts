import type { OutboundProblem } from '../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../core/providers/provider'

/** The failure of a call whose source could not be reached or read to the end. */
export function upstreamFailure(provider: string, { kind, reason }: OutboundProblem): UpstreamFailure {
  const message = `${provider}: ${kind}, ${reason}`
  if (kind === 'timeout' || kind === 'aborted') return { kind: 'timeout', reason: message }
  if (kind === 'unreachable') return { kind: 'unavailable', reason: message }
  return { kind: 'error', reason: message }
}
