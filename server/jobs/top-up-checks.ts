import type { TopUps } from '../core/accounts/top-ups'
import type { PaymentId } from '../core/ids'
import { formatUsd } from '../core/money'
import { type ReceiptCheckParts, revertedTopUps } from '../core/payments/receipt-check'
import type { Log } from '../log'

const EVERY_MS = 10 * 60_000

/**
 * Every ten minutes, top-ups of the last two days that their network has taken back are taken from the balance, with an alarm: those that
 * it denied twice, ten minutes apart, for what was taken is not given back.
 */
export function startTopUpChecks(parts: ReceiptCheckParts, topUps: TopUps, log: Log) {
  let denied: ReadonlySet<PaymentId> = new Set()
  const check = async (): Promise<void> => {
    try {
      const forgotten = await revertedTopUps(parts)
      const before = denied
      denied = new Set(forgotten.map(({ id }) => id))
      for (const claim of forgotten)
        if (before.has(claim.id) && (await topUps.takeBack(claim)))
          log.error('a top-up is gone from its network, and was taken from the balance', {
            payment: claim.id,
            transaction: claim.transaction,
            usd: formatUsd(claim.amount),
            account: claim.account,
          })
    } catch (error) {
      log.warn('top-ups could not be read again', { reason: String(error) })
    }
  }
  const job = setInterval(() => void check(), EVERY_MS)
  job.unref()
  return { check, close: () => clearInterval(job) }
}
