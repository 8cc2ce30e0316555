import type { Config } from '../config'
import type { Clock } from '../core/clock'
import type { RetentionStore } from '../core/usage/retention'
import { startRetention } from '../jobs/retention'
import type { Log } from '../log'

/** Removes old rows as long as the gateway runs. */
export function composeRetention(
  { retention: days }: Config,
  {
    stores,
    log,
    ...clocks
  }: {
    readonly stores: { readonly retention: RetentionStore }
    readonly clock: Clock
    readonly stopwatch: Clock
    readonly log: Log
  },
) {
  return startRetention({ store: stores.retention, days, ...clocks }, log)
}
