import type { CardTopUps } from '../core/accounts/cards/card-top-ups'
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Startup has enough to do. */
const FIRST_MS = 5 * MINUTE_MS
/** After a comparison that stopped early. */
const RETRY_MS = HOUR_MS

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
    firstMs: FIRST_MS,
    everyMs: DAY_MS,
    retryMs: RETRY_MS,
    onError: (error) => log.error('card payments could not be compared', { reason: reasonOf(error) }),
  })
}
