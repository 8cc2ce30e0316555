import type { Failure } from '../../core/failure'
import { isLocal } from '../../core/models/model'
import { accountOf } from '../record-call'
import type { StreamEnd, StreamSale } from '../stream'
import type { Charge } from '../work'
import { rememberItems, responseOfEnding } from './item-references'
import type { ModelDeps, ValidatedCall } from './model-call'
import { estimatedCharge, modelCharge } from './model-charge'
import { mayHideOutput } from './wires/hidden-output'
import type { StreamMeter, UpstreamWire } from './wires/model-wire'

const UTF8 = new TextEncoder()

/** A call that was sent upstream, and when. */
interface Started {
  readonly validated: ValidatedCall
  readonly startedAt: number
}

/** How a model's stream, which arrives in this wire, is metered and charged. */
export class ModelStream implements StreamSale {
  readonly meter: StreamMeter
  private readonly deps: Pick<ModelDeps, 'clock' | 'inputs' | 'items'>
  private readonly started: Started

  constructor(deps: Pick<ModelDeps, 'clock' | 'inputs' | 'items'>, started: Started, wire: UpstreamWire) {
    this.deps = deps
    this.started = started
    this.meter = wire.meter(started.validated.request, started.validated.call.path)
  }

  get stopsWithCaller(): StreamSale['stopsWithCaller'] {
    const { model, request } = this.started.validated
    return isLocal(model) ? 'at once' : model.stopsBilling && !mayHideOutput(request) ? 'soon' : null
  }

  get progress(): number {
    return this.meter.textBytes
  }

  get hasBegun(): boolean {
    return this.meter.textBytes > 0 || this.meter.seen.counts !== null
  }

  lost(): Charge | null {
    const { validated } = this.started
    return validated.maxCost === 0 ? null : modelCharge(validated, this.meter.seen, 'gateway_restarted')
  }

  charge({ isWhole, isGone, wasStopped, code }: StreamEnd): Charge | Promise<Charge> {
    const { deps, started, meter } = this
    // The vendor's usage report counts even if the end of the stream did not follow it.
    const isCounted = meter.seen.isFinal || (isWhole && !isGone) || started.validated.maxCost === 0
    if (isCounted) return modelCharge(started.validated, meter.seen, code)
    return estimatedCharge(deps, started, meter.seen, code, wasStopped)
  }

  onCharged(): void {
    const { call, request } = this.started.validated
    rememberItems(this.deps.items, accountOf(call.authenticated), request, () => responseOfEnding(this.meter.ending))
  }

  errorEvent(problem: Failure): Uint8Array {
    const { call } = this.started.validated
    return UTF8.encode(call.wire.errorEvent(call.failureJson(problem), call.path, this.meter.sentEvents ?? 0))
  }
}
