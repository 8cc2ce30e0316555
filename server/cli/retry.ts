import { retryAfterSeconds } from '../core/retry-after'
import type { Terminal } from './terminal'

const MAX_TRIES = 6
const MAX_BACKOFF_SECONDS = 30
const JITTER = 0.25

/**
 * Sends a request up to six times while the response is a 429 (spec 7 rule 1). Waits as long as `Retry-After` says, then doubles the
 * wait for each further 429, with 25 % jitter and at most 30 s, but never less than the latest `Retry-After`. A 429 is not charged, so
 * repeating is safe.
 */
export async function withRetries(
  terminal: Pick<Terminal, 'sleep' | 'random'>,
  send: () => Promise<Response>,
  onWait: (seconds: number) => void = () => undefined,
): Promise<Response> {
  let first = 0
  for (let attempt = 1; ; attempt++) {
    const answer = await send()
    if (answer.status !== 429 || attempt === MAX_TRIES) return answer
    const retryAfter = Math.max(1, retryAfterSeconds(answer.headers.get('retry-after')) ?? 1)
    await answer.body?.cancel()
    if (attempt === 1) first = retryAfter
    const seconds =
      attempt === 1 ? retryAfter : Math.max(retryAfter, backoff(first * 2 ** (attempt - 1), terminal.random()))
    onWait(seconds)
    await terminal.sleep(seconds * 1000)
  }
}

function backoff(seconds: number, random: number): number {
  return Math.min(MAX_BACKOFF_SECONDS, seconds * (1 - JITTER + 2 * JITTER * random))
}
