import type { OutboundProblem } from '../../core/outbound/outbound-fetch'
import type { UpstreamFailure } from '../../core/providers/provider'

/** What it means for a call that its source could not be asked, or not be read to the end. */
export function upstreamFailure(provider: string, { kind, reason }: OutboundProblem): UpstreamFailure {
  const told = `${provider}: ${kind}, ${reason}`
  if (kind === 'timeout' || kind === 'aborted') return { kind: 'timeout', reason: told }
  if (kind === 'unreachable') return { kind: 'unavailable', reason: told }
  return { kind: 'error', reason: told }
}
