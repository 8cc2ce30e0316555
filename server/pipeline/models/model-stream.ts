import { isLocal } from '../../core/models/model'
import { accountOf } from '../record-call'
import type { StreamSale } from '../stream'
import { rememberItems, responseOfEnding } from './item-references'
import type { ModelDeps, ValidatedCall } from './model-call'
import { estimatedCharge, modelCharge } from './model-charge'
import { mayHideOutput } from './wires/hidden-output'
import type { UpstreamWire } from './wires/model-wire'

/** How a model's stream, which arrives in this wire, is metered and charged. */
export function modelStream(
  deps: Pick<ModelDeps, 'clock' | 'inputs' | 'items'>,
  started: { readonly validated: ValidatedCall; readonly startedAt: number },
  wire: UpstreamWire,
): StreamSale {
  const { validated } = started
  const { call, request, model, maxCost } = validated
  const meter = wire.meter(request, call.path)
  const encoder = new TextEncoder()
  return {
    meter,
    stopsWithCaller: isLocal(model) ? 'at once' : model.stopsBilling && !mayHideOutput(request) ? 'soon' : null,
    get progress() {
      return meter.seen.textBytes
    },
    get hasBegun() {
      return meter.seen.counts !== null || meter.seen.textBytes > 0
    },
    lost: () => (maxCost === 0 ? null : modelCharge(validated, meter.seen, 'gateway_restarted')),
    charge({ isWhole, isGone, wasStopped, code }) {
      // The vendor's usage report counts even if the end of the stream did not follow it.
      const isCounted = meter.seen.isFinal || (isWhole && !isGone) || maxCost === 0
      if (isCounted) return modelCharge(validated, meter.seen, code)
      return estimatedCharge(deps, started, meter.seen, code, wasStopped)
    },
    onCharged: () =>
      rememberItems(deps.items, accountOf(call.authenticated), request, () => responseOfEnding(meter.ending)),
    errorEvent: (problem) =>
      encoder.encode(call.wire.errorEvent(call.failureJson(problem), call.path, meter.sentEvents ?? 0)),
  }
}
