import { VERSION } from '../../../../core/version'
import type { Connection } from './worker/worker-connection'

const RAISE = `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0, version = ?2
  WHERE id = 1 RETURNING epoch`

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Resolves to the new epoch; from then on no older process commits anything.
 */
export async function raiseEpoch(writer: Connection, now: number): Promise<number> {
  const statements = [{ sql: RAISE, args: [Math.max(0, Math.floor(now / 1000)), VERSION] }]
  const [raised] = await writer.send({ op: 'batch', mode: 'write', statements })
  const epoch = Number(raised?.rows[0]?.[0])
  if (!Number.isSafeInteger(epoch)) throw new Error('the database has no owner row')
  return epoch
}
