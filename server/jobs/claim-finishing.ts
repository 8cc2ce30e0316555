import type { TopUps } from '../core/accounts/top-ups'
import { type Clock, MINUTE_MS } from '../core/clock'
import type { ClaimStore } from '../core/payments/claim'
import type { Payments } from '../core/payments/payments'
import { reasonOf } from '../core/result'
import type { Log } from '../log'
import { type Job, startJob } from './job'

const EVERY_MS = 10_000
const PRUNE_MS = MINUTE_MS

interface Parts {
  readonly payments: Payments
  readonly topUps: TopUps
  readonly claims: ClaimStore
  readonly clock: Clock
  readonly log: Log
}

/** Finishes abandoned payments, every ten seconds, and deletes old claims every minute. The first run starts at once. */
export function startClaimFinishing({ payments, topUps, claims, clock, log }: Parts): Job {
  let pruneAt = 0
  const finish = async () => {
    await payments.finishOpen((claim) => topUps.creditFinal(payments, claim))
    if (clock.now() < pruneAt) return
    await claims.prune(clock.now())
    pruneAt = clock.now() + PRUNE_MS
  }
  const onError = (error: unknown) => log.error('payments', { reason: reasonOf(error) })
  return startJob(finish, { firstMs: 0, everyMs: EVERY_MS, onError })
}
