import { DAY_MS, MINUTE_MS } from '../core/clock'
import { formatUsd } from '../core/money'
import { type ReceiptCheckParts, recheckReceipts } from '../core/payments/receipt-check'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Startup has enough to do. */
const FIRST_MS = 10 * MINUTE_MS

/** Looks up recent payments on their networks every day: reports reverted ones, and finds those that went through late. */
export function startReceiptChecks(parts: ReceiptCheckParts, log: Log): Job {
  const check = async () => {
    const { checked, missing, found } = await recheckReceipts(parts)
    for (const { id, method, transaction, amount, purpose, account } of missing)
      log.error('a payment no longer exists on its network, but what it bought was delivered', {
        payment: id,
        method,
        transaction,
        usd: formatUsd(amount),
        purpose,
        account,
      })
    for (const { id, method, transaction, amount } of found)
      log.warn('a refused payment went through later: its credential is good for one response', {
        payment: id,
        method,
        transaction,
        usd: formatUsd(amount),
      })
    log.info('payments were checked on their networks', { checked, missing: missing.length, found: found.length })
  }
  return startJob(check, {
    firstMs: FIRST_MS,
    everyMs: DAY_MS,
    onError: (error) => log.warn('payments could not be checked on their networks', { reason: reasonOf(error) }),
  })
}
