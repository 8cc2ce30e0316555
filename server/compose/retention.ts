import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { KeptDirectory, RetentionStore } from '../core/usage/retention'
import { startRetention } from '../jobs/retention'
import type { Log } from '../log'
import { type CellPlace, ownsControl } from './cluster/cell-place'

/** Removes old rows as long as the gateway runs. */
export function composeRetention(
  { retention: days }: Config,
  {
    stores,
    place,
    log,
    ...clocks
  }: {
    readonly stores: { readonly retention: RetentionStore; readonly cells: KeptDirectory }
    readonly place?: Pick<CellPlace, 'name'> | undefined
    readonly clock: Clock
    readonly stopwatch: Clock
    readonly log: Log
  },
) {
  const directory = ownsControl(place) ? stores.cells : null
  return startRetention({ store: stores.retention, directory, days, ...clocks }, log)
}
