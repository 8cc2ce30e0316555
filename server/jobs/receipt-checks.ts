import { formatUsd } from '../core/money'
import { type ReceiptCheckParts, recheckReceipts } from '../core/payments/receipt-check'
import type { Log } from '../log'

/** Not with the start, which has enough to do. */
const FIRST_MS = 10 * 60_000
const DAY_MS = 86_400_000

/** Daily, an alarm for each payment that its network has forgotten, and the finding of those that came through late. */
export function startReceiptChecks(parts: ReceiptCheckParts, log: Log) {
  let job: ReturnType<typeof setTimeout>
  const after = (ms: number) => {
    job = setTimeout(() => void check(), ms)
    job.unref()
  }
  const check = async () => {
    try {
      const { checked, missing, found } = await recheckReceipts(parts)
      for (const { id, method, transaction, amount, purpose, account } of missing)
        log.error('a payment is gone from its network, and what it bought was given', {
          payment: id,
          method,
          transaction,
          usd: formatUsd(amount),
          purpose,
          account,
        })
      for (const { id, method, transaction, amount } of found)
        log.warn('a payment came through after it was refused: its credential is good for one answer', {
          payment: id,
          method,
          transaction,
          usd: formatUsd(amount),
        })
      log.info('payments were read again from their networks', {
        checked,
        missing: missing.length,
        found: found.length,
      })
    } catch (error) {
      log.warn('payments could not be read again', { reason: String(error) })
    }
    after(DAY_MS)
  }
  after(FIRST_MS)
  return { close: () => clearTimeout(job) }
}
