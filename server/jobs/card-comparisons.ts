import type { CardTopUps } from '../core/accounts/card-top-ups'
import type { Log } from '../log'

/** Not with the start, which has enough to do. */
const FIRST_MS = 5 * 60_000
const DAY_MS = 86_400_000
/** After one that ended early. */
const AGAIN_MS = 60 * 60_000

/** Daily, compares card payments with their processor, for messages that never came. The next one begins after the last has ended. */
export function startCardComparisons(cards: Pick<CardTopUps, 'compareAll'>, log: Log) {
  let job: ReturnType<typeof setTimeout>
  let isClosed = false
  const after = (ms: number) => {
    if (isClosed) return
    job = setTimeout(() => void compare(), ms)
    job.unref()
  }
  const compare = async () => {
    let complete = false
    try {
      const ended = await cards.compareAll((compared) => log.info('card payments are being compared', { compared }))
      log.info('card payments were compared with the card processor', { ...ended })
      complete = ended.complete
    } catch (error) {
      log.error('card payments could not be compared', { reason: String(error) })
    }
    after(complete ? DAY_MS : AGAIN_MS)
  }
  after(FIRST_MS)
  return {
    close() {
      isClosed = true
      clearTimeout(job)
    },
  }
}
