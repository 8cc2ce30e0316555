import type { HoldRequest, HoldStore } from '../../../core/ledger/hold'
import { LoadedHolds } from './loaded-holds'

/** The lease of the accounts has run out: another node may own them. Callers get a 503 (core/unavailable.ts). */
class LeaseEnded extends Error {
  readonly unavailable = true

  constructor() {
    super('this node does not own the accounts now')
  }
}

/** The counters of a node of many: nothing is granted without the lease, which is asked in the same step as the limits. */
export class LeasedHolds extends LoadedHolds {
  private readonly mayGrant: () => boolean

  constructor(mayGrant: () => boolean) {
    super()
    this.mayGrant = mayGrant
  }

  protected override grant(request: HoldRequest): ReturnType<HoldStore['hold']> {
    return this.mayGrant() ? super.grant(request) : Promise.reject(new LeaseEnded())
  }
}
