import { type Clock, DAY_MS, HOUR_MS, isoDay, MINUTE_MS } from '../core/clock'
import { isJson } from '../core/json'
import type { ModelCatalog } from '../core/models/model-catalog'
import { reviewPrices } from '../core/models/price-review'
import type { CurrentSheet } from '../core/models/price-sheet'
import type { OutboundFetch } from '../core/outbound/outbound-fetch'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const FETCH_MS = 60_000
/** Several times what the sheet of LiteLLM has. */
const MAX_SHEET_BYTES = 20_000_000

interface Parts {
  readonly models: Pick<ModelCatalog, 'list'>
  readonly priceSheet: CurrentSheet
  /** Where a newer sheet is; null if there is none. */
  readonly url: string | null
  readonly fetch: OutboundFetch
  readonly clock: Clock
}

/**
 * Once a day reads the newest sheet of vendors' prices, and logs each model that costs less than its vendor charges. It changes no price:
 * an operator does, with `gateway operator model prices`.
 */
export function startPriceChecks({ models, priceSheet, url, fetch, clock }: Parts, log: Log): Job {
  return startJob(
    async (signal) => {
      if (url !== null) priceSheet.take(await sheetAt(url, fetch, signal), models.list(), isoDay(clock.now()))
      for (const { model, below } of reviewPrices(models.list(), priceSheet.prices, 0))
        if (below.length > 0)
          log.warn('a model costs less than its vendor charges', { model: model.id, below: below.join(', ') })
    },
    {
      everyMs: DAY_MS,
      firstMs: MINUTE_MS,
      retryMs: HOUR_MS,
      onError: (error) => log.error("vendors' prices could not be read", { reason: reasonOf(error) }),
    },
  )
}

async function sheetAt(url: string, fetch: OutboundFetch, signal: AbortSignal) {
  const answer = await fetch({ url, timeoutMs: FETCH_MS, maxBytes: MAX_SHEET_BYTES, signal })
  if (!answer.ok) throw new Error(answer.error.reason)
  if (answer.value.status !== 200) throw new Error(`status ${answer.value.status}`)
  const sheet: unknown = JSON.parse(new TextDecoder().decode(answer.value.body))
  if (!isJson(sheet)) throw new Error('not a JSON object')
  return sheet
}
