import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { Opening } from '../core/cluster/opening'
import type { KeptDirectory, RetentionStore } from '../core/usage/retention'
import { startRetention } from '../jobs/retention'
import type { Log } from '../log'
import { type CellMembership, ownsControl } from './cluster/cells/cell-membership'

/** Removes old rows as long as the gateway runs. */
export function composeRetention(
  { retention: days }: Config,
  {
    stores,
    membership,
    log,
    opening,
    ...clocks
  }: {
    readonly stores: { readonly retention: RetentionStore; readonly cells: KeptDirectory }
    readonly membership?: Pick<CellMembership, 'name'> | undefined
    readonly clock: Clock
    readonly stopwatch: Clock
    readonly log: Log
    readonly opening: Opening
  },
) {
  const directory = ownsControl(membership) ? stores.cells : null
  return opening.job(() => startRetention({ store: stores.retention, directory, days, ...clocks }, log))
}
