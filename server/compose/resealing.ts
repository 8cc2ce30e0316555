import { KeyRing } from '../adapters/sealing/key-ring'
import type { Config } from '../config'
import { resealTexts, type SealedTexts } from '../core/secrets/resealing'
import type { Log } from '../log'

/**
 * Seals the secrets of webhooks and imported APIs with the newest key. Returns what says, once that is done, whether older keys can be removed as far as
 * these are concerned.
 */
export async function resealSecrets(
  { sealingKeys }: Config,
  all: readonly SealedTexts[],
  log: Log,
): Promise<() => boolean> {
  let isComplete = true
  if (sealingKeys.length < 2) return () => isComplete
  const onTrouble = (reason: string) => {
    isComplete = false
    log.warn('sealing', { reason })
  }
  const sealing = new KeyRing(sealingKeys)
  let resealed = 0
  for (const texts of all) resealed += await resealTexts({ texts, sealing, onTrouble })
  if (resealed > 0) log.info('sealing: secrets of webhooks and APIs were sealed with the newest key', { resealed })
  return () => isComplete
}
