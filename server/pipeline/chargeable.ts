import { type Failure, failure } from '../core/failure'
import type { WatchedJournal } from '../core/ledger/watched-journal'

/** Whether charges can be written. */
export type ChargeState = Pick<WatchedJournal, 'isFailing' | 'recovers'>

/** Why a new call may not begin, or null: while the disk is full, what cannot be charged costs the vendor nothing. */
export async function chargeProblem(charges: ChargeState): Promise<Failure | null> {
  return charges.isFailing && !(await charges.recovers()) ? NOT_CHARGEABLE : null
}

const NOT_CHARGEABLE = failure(
  'service_unavailable',
  'Charges cannot be recorded at the moment, so this request was not started. Try again.',
  { retryAfterSeconds: 1 },
)
