import { type Sealing, Unsealable } from '../sealing'
import { resealedTokens } from './sealed-tokens'
import type { SocialStore } from './store'

/**
 * Seals the tokens of every session again that an older key sealed, so that this key may then leave the ring. Changes nothing that was
 * renewed meanwhile. What no key opens stays as it is, and is told. Gives how many were sealed again. Free to repeat.
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
