import type { Claim } from './claim'
import type { Fate, PaymentMethod } from './method'
import type { PaymentParts } from './payment'

/** At most so many are looked at in one round, so many of them side by side: a network that hangs holds up its own alone. */
const ROUND = 200
const AT_ONCE = 16
/** A claim that was looked at in vain waits this long, and twice as long each time. */
const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 10 * 60_000

/** What ends the claims that nobody comes back for. */
export interface FinishParts extends Pick<PaymentParts, 'claims' | 'clock' | 'onTrouble'> {
  /** The ways to pay, once they can be used: the network is opened after the server listens. */
  readonly methods: () => Promise<readonly PaymentMethod[]>
  /** What became of a claim that is none of these methods': a top-up by card. */
  readonly elsewhere?: (claim: Claim) => Promise<Fate>
}

type Credit = (claim: Claim) => Promise<boolean>

/** One round of the job behind `Payments.finishOpen`. Each claim waits for its own next look, so that no number of hopeless ones keeps others waiting. */
export async function finishOpen(parts: FinishParts, credit: Credit): Promise<number> {
  const { claims, clock, onTrouble } = parts
  const due = await claims.unfinished(clock.now(), ROUND)
  const waiting = [...due]
  const work = async () => {
    for (let claim = waiting.shift(); claim; claim = waiting.shift()) {
      const { id, key, looks } = claim
      const isEnded = await finish(parts, claim, credit).catch((error: unknown) => {
        onTrouble('payment', `${id}: ${error}`)
        return false
      })
      if (!isEnded) await claims.postpone(key, clock.now() + pauseAfter(looks))
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return due.length
}

function pauseAfter(looks: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** looks)
}

/** False when its fate is still open, or what it paid for is not booked yet. */
async function finish(
  { claims, clock, onTrouble, ...parts }: FinishParts,
  claim: Claim,
  credit: Credit,
): Promise<boolean> {
  const { id, key, state, attempts, purpose } = claim
  const now = () => clock.now()
  if (state === 'working') {
    // One that was paid for earlier was being tried again.
    if (claim.paid) await claims.owe(key, 'abandoned', now(), attempts)
    else await claims.release(key, 'abandoned', false, now(), attempts)
    return true
  }
  let { reference } = claim
  if (state === 'settling') {
    const fate = await fateOf(parts, claim)
    if (fate.kind === 'never') await claims.release(key, 'never settled', isHeldAgainst(claim), now())
    if (fate.kind === 'never') return true
    if (fate.kind === 'open') {
      onTrouble('payment', `${id} is not settled yet`)
      return false
    }
    await claims.settled(key, fate.reference, now())
    reference = fate.reference
  }
  if (purpose === 'call') {
    await claims.owe(key, 'the answer was lost', now())
    return true
  }
  if (await credit({ ...claim, reference })) return claims.served(key, now())
  onTrouble('payment', `${id} is paid and not booked; it is tried again`)
  return false
}

/** Its upstream was called for it, and it never paid: unless the trouble was ours. */
export function isHeldAgainst({ purpose, ourTrouble }: Claim): boolean {
  return purpose === 'call' && !ourTrouble
}

/** What the network of a claim says of it now; `open` where no network of ours knows it. */
export async function fateOf(
  { methods, elsewhere }: Pick<FinishParts, 'methods' | 'elsewhere'>,
  claim: Claim,
): Promise<Fate> {
  const method = (await methods()).find(({ name }) => name === claim.method)
  return (await (method?.lookUp(claim) ?? elsewhere?.(claim))) ?? { kind: 'open' }
}
