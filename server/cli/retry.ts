import type { Terminal } from './terminal'

const MAX_TRIES = 6
const CAP_SECONDS = 30
const JITTER = 0.25

/**
 * Sends until the answer is no 429, at most six times (spec 7 rule 1): at first as long as `Retry-After` says, then twice as long
 * for each further 429, give or take a quarter, at most 30 s, and never shorter than the `Retry-After` of the answer before.
 * Nothing is charged for a 429, so that a repeat is safe.
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
    const asked = Math.max(1, Number(answer.headers.get('retry-after')) || 1)
    await answer.body?.cancel()
    if (attempt === 1) first = asked
    const seconds = attempt === 1 ? asked : Math.max(asked, backoff(first * 2 ** (attempt - 1), terminal.random()))
    onWait(seconds)
    await terminal.sleep(seconds * 1000)
  }
}

function backoff(seconds: number, random: number): number {
  return Math.min(CAP_SECONDS, seconds * (1 - JITTER + 2 * JITTER * random))
}
