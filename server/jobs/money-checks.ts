import type { CardRefunds } from '../core/accounts/cards/card-refunds'
import type { CardTopUps } from '../core/accounts/cards/card-top-ups'
import type { Reconciliation } from '../core/accounts/cards/reconciliation'
import type { TopUps } from '../core/accounts/top-ups'
import { type Clock, DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import type { PaymentId } from '../core/ids'
import { formatUsd } from '../core/money'
import { type ReceiptCheckParts, recheckReceipts, revertedTopUps } from '../core/payments/receipt-check'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** The start has enough to do, so the daily checks begin one after the other. */
const CARDS_FIRST_MS = 5 * MINUTE_MS
const RECEIPTS_FIRST_MS = 10 * MINUTE_MS
const BOOKS_FIRST_MS = 15 * MINUTE_MS
/** After a comparison that stopped early. */
const RETRY_MS = HOUR_MS
/** More than a day, so that a day that was missed is made up for. */
const COMPARED_DAYS = 3
const REFUNDS_EVERY_MS = MINUTE_MS
const TOP_UPS_EVERY_MS = 10 * MINUTE_MS

/** Compares card payments with their processor every day, to make up for lost webhook messages. */
export function startCardComparisons(cards: Pick<CardTopUps, 'compareAll' | 'missing'>, log: Log): Job {
  const compare = async () => {
    const comparison = await cards.compareAll((compared) => log.info('comparing card payments', { compared }))
    log.info('card payments were compared with the card processor', { ...comparison })
    const missing = await cards.missing()
    if (missing.pages.length > 0)
      log.error('the card processor knows payment pages that are unknown here; run "gateway operator reconcile"', {
        pages: missing.pages.length,
      })
    return comparison.complete && missing.isComplete
  }
  return startJob(compare, {
    firstMs: CARDS_FIRST_MS,
    everyMs: DAY_MS,
    retryMs: RETRY_MS,
    onError: (error) => log.error('card payments could not be compared', { reason: reasonOf(error) }),
  })
}

/** Finishes refunds whose outcome is open: a crash or a silent processor came in between, or the bank takes its time. */
export function startCardRefunds(refunds: Pick<CardRefunds, 'finish'>, log: Log): Job {
  const finish = async () => {
    const ended = await refunds.finish()
    if (ended > 0) log.info('card refunds ended', { ended })
  }
  return startJob(finish, {
    everyMs: REFUNDS_EVERY_MS,
    onError: (error) => log.warn('card refunds could not be followed', { reason: reasonOf(error) }),
  })
}

/** A copy that this process took over from another machine, whose last changes it may lack. */
export interface TakenOverCopy {
  readonly takenAt: number
  /** Its books were compared to the end. */
  checked(): Promise<void>
}

/**
 * Compares the books with themselves, the card processor and the chains every day, and reports what does not agree. Books nothing, but what a copy
 * lacks that was taken over: that comparison is made first, at once.
 */
export function startReconciliations(
  reconciliation: Pick<Reconciliation, 'run'>,
  clock: Clock,
  log: Log,
  takenOver: TakenOverCopy | null = null,
): Job {
  let copy = takenOver
  const compare = async () => {
    const now = clock.now()
    // Payment pages live for half an hour: what is younger may still be on its way.
    const to = now - HOUR_MS
    const period = copy ? { from: copy.takenAt - DAY_MS, to: now } : { from: to - COMPARED_DAYS * DAY_MS, to }
    const { id, problems, isComplete } = await reconciliation.run({ actor: 'job', period, apply: copy !== null })
    const found = { reconciliation: id, problems, complete: isComplete }
    if (problems === 0) log.info('the books were compared', found)
    else if (copy) log.warn('after the take-over the books were compared, and what they lacked was booked', found)
    else log.error('the books do not agree; run "gateway operator reconcile"', found)
    if (isComplete) await copy?.checked()
    if (isComplete) copy = null
    return isComplete
  }
  return startJob(compare, {
    firstMs: copy ? 0 : BOOKS_FIRST_MS,
    everyMs: DAY_MS,
    retryMs: RETRY_MS,
    onError: (error) => log.error('the books could not be compared', { reason: reasonOf(error) }),
  })
}

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
    everyMs: TOP_UPS_EVERY_MS,
    onError: (error) => log.warn('top-ups could not be checked on their networks', { reason: reasonOf(error) }),
  })
}

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
    firstMs: RECEIPTS_FIRST_MS,
    everyMs: DAY_MS,
    onError: (error) => log.warn('payments could not be checked on their networks', { reason: reasonOf(error) }),
  })
}
