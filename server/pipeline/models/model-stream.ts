import { isLocal } from '../../core/models/model'
import type { StreamSale } from '../stream'
import type { ModelDeps, ValidatedCall } from './model-call'
import { chargeFor, estimatedCharge } from './model-charge'
import { mayHideOutput } from './wires/hidden-output'

/** How the stream of a model is metered and charged. */
export function modelStream(
  deps: Pick<ModelDeps, 'clock' | 'inputs'>,
  asked: { readonly validated: ValidatedCall; readonly askedAt: number },
): StreamSale {
  const { validated } = asked
  const { call, request, model, most } = validated
  const meter = call.wire.meter(request, call.path)
  const encoder = new TextEncoder()
  return {
    meter,
    stopsWithCaller: isLocal(model) ? 'at once' : model.stopsBilling && !mayHideOutput(request) ? 'soon' : null,
    get chargedBytes() {
      return meter.seen.textBytes
    },
    get hasBegun() {
      return meter.seen.counts !== null || meter.seen.textBytes > 0
    },
    lost: () => (most === 0 ? null : chargeFor(validated, meter.seen, 'gateway_restarted')),
    charge({ isWhole, isGone, wasStopped, code }) {
      // The vendor's report counts, also where its end did not come behind it.
      const isCounted = meter.seen.isFinal || (isWhole && !isGone) || most === 0
      if (isCounted) return chargeFor(validated, meter.seen, code)
      return estimatedCharge(deps, asked, meter.seen, code, wasStopped)
    },
    errorEvent: (problem) => encoder.encode(call.wire.errorEvent(call.failureJson(problem), call.path)),
  }
}
