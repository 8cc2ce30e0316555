import type { CellName } from '../../../core/cluster/cells'
import { type ClockSkew, RENEW_MS } from '../../../core/cluster/leases'
import type { CellParts } from './cell-role'
import type { OwnedGateway } from './owned-gateway'

export interface HeartbeatParts extends Pick<CellParts<OwnedGateway>, 'leases' | 'self' | 'monotonic'> {
  /** Whether this node can answer searches. Until then no node hands it a cell; it takes those without an owner all the same. */
  readonly canSearch?: () => Promise<boolean>
}

/** Reports that this node is alive and, with several cells, which of them it can take. */
export class Heartbeat {
  private readonly parts: HeartbeatParts
  private readonly skew: ClockSkew
  private seenAt = Number.NEGATIVE_INFINITY
  /** The cells that this node last offered to take. */
  private offered = ''

  constructor(parts: HeartbeatParts, skew: ClockSkew) {
    this.parts = parts
    this.skew = skew
  }

  /** At most every `RENEW_MS`; immediately if the cells have changed. `willing`: those that it would take; null if there is only one. */
  async beat(willing: (() => readonly CellName[]) | null): Promise<void> {
    const { leases, self, monotonic, canSearch } = this.parts
    const offers = willing !== null && (!canSearch || (await canSearch()))
    const offer = offers ? willing() : []
    const isNews = offer.join() !== this.offered
    if (!isNews && monotonic() - this.seenAt < RENEW_MS) return
    this.seenAt = monotonic()
    const facts = { ...self, skewMs: this.skew.ms }
    if (willing === null) return leases.beat(facts)
    await leases.beat(facts, offer)
    this.offered = offer.join()
  }
}
