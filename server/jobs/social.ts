import { HOUR_MS, MINUTE_MS } from '../core/clock'
import { reasonOf } from '../core/result'
import { type Sealing, Unsealable } from '../core/sealing'
import type { Approvals } from '../core/social/approvals'
import type { LinkedAccounts } from '../core/social/linked-accounts'
import { resealedTokens } from '../core/social/sealed-tokens'
import type { SocialStore } from '../core/social/store'
import type { Log } from '../log'
import { type Job, startJob } from './job'

/** Renews the tokens of idle linked accounts every hour. Await its `close`: the new tokens of a run in progress must be saved. */
export function startIdleRenewals(accounts: Pick<LinkedAccounts, 'renewIdle'>, log: Log): Job {
  return startJob((signal) => accounts.renewIdle(signal), {
    everyMs: HOUR_MS,
    onError: (error) => log.warn('idle linked accounts could not be renewed', { reason: reasonOf(error) }),
  })
}

/** Revokes unconfirmed approvals every minute. The first run starts at once, for those that the previous process left. */
export function startApprovalRevocations(approvals: Pick<Approvals, 'revokeOverdue'>, log: Log): Job {
  return startJob((signal) => approvals.revokeOverdue(signal), {
    firstMs: 0,
    everyMs: MINUTE_MS,
    onError: (error) => log.warn('unconfirmed approvals could not be revoked', { reason: reasonOf(error) }),
  })
}

/** Seals all sessions with the newest key, once, while the gateway serves. The log says when older keys can be removed: if all else is sealed with it (`isResealed`). */
export function startResealing(
  { store, isResealed }: { readonly store: SocialStore; readonly isResealed: () => boolean },
  sealing: Sealing,
  log: Log,
): Job {
  const reseal = async () => {
    let isComplete = isResealed()
    const onTrouble = (reason: string) => {
      isComplete = false
      log.warn('sealing', { reason })
    }
    try {
      const resealed = await resealSessions({ store, sealing, onTrouble })
      if (isComplete)
        log.info('sealing: everything is sealed with the newest of SEALING_KEYS; older keys can be removed', {
          resealed,
        })
    } catch (error) {
      log.error('sealing', { reason: reasonOf(error) })
    }
  }
  const done = reseal()
  return { run: () => done, close: () => done }
}

/**
 * Seals the tokens of every session with the newest key, so that older keys can be removed. Skips tokens that are renewed at the same
 * time. Reports tokens that no key opens and leaves them unchanged. Returns how many were sealed again. Idempotent.
 */
export async function resealSessions(parts: {
  readonly store: Pick<SocialStore, 'everySession' | 'replaceTokens'>
  readonly sealing: Sealing
  readonly onTrouble: (reason: string) => void
}): Promise<number> {
  const { store, sealing, onTrouble } = parts
  let resealed = 0
  for (const session of await store.everySession())
    try {
      const tokens = resealedTokens(sealing, session)
      if (tokens && (await store.replaceTokens(session.id, session.tokens, tokens))) resealed++
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      onTrouble(`${session.id}: ${error.message}`)
    }
  return resealed
}
