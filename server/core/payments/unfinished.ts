import { MINUTE_MS } from '../clock'
import { reasonOf } from '../result'
import type { Claim } from './claim'
import type { PaymentFate, PaymentMethod } from './method'
import type { PaymentParts } from './payment'

const MAX_PER_ROUND = 200
/** Claims are checked concurrently, so that a network that hangs delays only its own claims. */
const CONCURRENCY = 16
/** A claim without a result is checked again after this time, which doubles each time. */
const FIRST_PAUSE_MS = 10_000
const MAX_PAUSE_MS = 10 * MINUTE_MS

/** The dependencies of finishing abandoned claims. */
export interface FinishParts extends Pick<PaymentParts, 'claims' | 'clock' | 'onTrouble'> {
  /** The payment methods. Resolves once their networks are open, which happens after the server listens. */
  readonly methods: () => Promise<readonly PaymentMethod[]>
  /** The outcome of a claim by another method: a top-up by card. */
  readonly elsewhere?: (claim: Claim) => Promise<PaymentFate>
}

type Credit = (claim: Claim) => Promise<boolean>

/** One round of the job behind `Payments.finishOpen`. Each claim has its own schedule, so that hopeless ones do not delay others. */
export async function finishOpen(parts: FinishParts, credit: Credit): Promise<number> {
  const { claims, clock, onTrouble } = parts
  const due = await claims.unfinished(clock.now(), MAX_PER_ROUND)
  const queue = [...due]
  const work = async () => {
    for (let claim = queue.shift(); claim; claim = queue.shift()) {
      const { id, key, looks } = claim
      const isEnded = await finish(parts, claim, credit).catch((error: unknown) => {
        onTrouble('payment', `${id}: ${reasonOf(error)}`)
        return false
      })
      if (!isEnded) await claims.postpone(key, clock.now() + pauseAfter(looks))
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, work))
  return due.length
}

function pauseAfter(looks: number): number {
  return Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** looks)
}

/** Returns false when the outcome is still unknown, or what was paid for is not booked yet. */
async function finish(
  { claims, clock, onTrouble, ...parts }: FinishParts,
  claim: Claim,
  credit: Credit,
): Promise<boolean> {
  const { id, key, state, attempts, purpose } = claim
  const now = () => clock.now()
  if (state === 'working') {
    // A paid claim was being tried again.
    if (claim.paid) await claims.markUnserved(key, 'abandoned', now(), attempts)
    else await claims.release(key, 'abandoned', false, now(), attempts)
    return true
  }
  let { reference } = claim
  if (state === 'settling') {
    const fate = await fateOf(parts, claim)
    if (fate.kind === 'never') await claims.release(key, 'never settled', countsAgainstPayer(claim), now())
    if (fate.kind === 'never') return true
    if (fate.kind === 'open') {
      onTrouble('payment', `${id} is not settled yet`)
      return false
    }
    await claims.settled(key, fate.reference, now())
    reference = fate.reference
  }
  if (purpose === 'call') {
    await claims.markUnserved(key, 'the answer was lost', now())
    return true
  }
  if (await credit({ ...claim, reference })) return claims.served(key, now())
  onTrouble('payment', `${id} is paid but not booked; it will be tried again`)
  return false
}

/** Whether a failure counts against the payer: the upstream was called but never paid for, through no fault of ours. */
export function countsAgainstPayer({ purpose, ourTrouble }: Claim): boolean {
  return purpose === 'call' && !ourTrouble
}

/** The outcome of a claim according to its network; `open` when no network of ours knows it. */
export async function fateOf(
  { methods, elsewhere }: Pick<FinishParts, 'methods' | 'elsewhere'>,
  claim: Claim,
): Promise<PaymentFate> {
  const method = (await methods()).find(({ name }) => name === claim.method)
  return (await (method?.lookUp(claim) ?? elsewhere?.(claim))) ?? { kind: 'open' }
}
