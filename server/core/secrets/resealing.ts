import { type SealContext, type Sealing, Unsealable } from '../sealing'

export interface SealedText {
  readonly context: SealContext
  readonly sealed: string
}

/** The sealed texts except the tokens of linked accounts, which are renewed while the gateway serves. */
export interface SealedTexts {
  all(): Promise<readonly SealedText[]>
  /** Leaves a text that changed meanwhile. */
  replace(text: SealedText, by: string): Promise<void>
}

/**
 * Seals every text with the newest key, so that older keys can be removed. Reports texts that no key opens and leaves them unchanged.
 * Returns how many were sealed again. Idempotent.
 */
export async function resealTexts(parts: {
  readonly texts: SealedTexts
  readonly sealing: Sealing
  readonly onTrouble: (reason: string) => void
}): Promise<number> {
  const { texts, sealing, onTrouble } = parts
  let resealed = 0
  for (const text of await texts.all())
    try {
      const { text: plain, stale } = sealing.open(text.sealed, text.context)
      if (!stale) continue
      await texts.replace(text, sealing.seal(plain, text.context))
      resealed++
    } catch (error) {
      if (!(error instanceof Unsealable)) throw error
      onTrouble(`${text.context.table} ${text.context.row}: ${error.message}`)
    }
  return resealed
}
