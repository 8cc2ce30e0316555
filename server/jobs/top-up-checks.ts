import type { TopUps } from '../core/accounts/top-ups'
import { MINUTE_MS } from '../core/clock'
import type { PaymentId } from '../core/ids'
import { formatUsd } from '../core/money'
import { type ReceiptCheckParts, revertedTopUps } from '../core/payments/receipt-check'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const EVERY_MS = 10 * MINUTE_MS

/**
 * Takes top-ups that their network reverted back from the balance, every ten minutes, and reports them. A top-up must be missing in two
 * checks in a row, because one node may lag behind and a top-up that was taken back is not restored.
 */
export function startTopUpChecks(parts: ReceiptCheckParts, topUps: TopUps, log: Log): Job {
  let missing: ReadonlySet<PaymentId> = new Set()
  const check = async () => {
    const reverted = await revertedTopUps(parts)
    const missingBefore = missing
    missing = new Set(reverted.map(({ id }) => id))
    for (const claim of reverted)
      if (missingBefore.has(claim.id) && (await topUps.takeBack(claim)))
        log.error('a top-up was reverted by its network and taken back from the balance', {
          payment: claim.id,
          transaction: claim.transaction,
          usd: formatUsd(claim.amount),
          account: claim.account,
        })
  }
  return startJob(check, {
    everyMs: EVERY_MS,
    onError: (error) => log.warn('top-ups could not be checked on their networks', { reason: reasonOf(error) }),
  })
}
