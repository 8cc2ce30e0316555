import type { UpstreamFailure } from '../../../core/providers/provider'

/** A search that failed because of its goggles: the caller must change them. */
export function brokenGoggle(rule: string): UpstreamFailure {
  return { kind: 'invalid_input', reason: 'its goggles take too long to process', input: { param: 'goggles', rule } }
}
