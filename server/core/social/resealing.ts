import { type Sealing, Unsealable } from '../sealing'
import { resealedTokens } from './sealed-tokens'
import type { SocialStore } from './store'

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
