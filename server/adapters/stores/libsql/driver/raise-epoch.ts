import { HAS_LEASE } from '../cluster/lease-tables'
import type { Connection } from './worker-connection'
import type { Statement } from './worker-wire'

/** A lease that this process took. Another one may have it by now. */
export interface HeldLease {
  readonly nodeId: string
  readonly term: number
}

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Resolves to the new epoch; from then on no older process commits anything. Throws if another node has the lease: one
 * that froze while it opened the database must not fence its successor.
 */
export async function raiseEpoch(writer: Connection, now: number, lease: HeldLease | null): Promise<number> {
  const [result] = await writer.send({ op: 'batch', mode: 'write', statements: [epochRaise(now, lease)] })
  const epoch = Number(result?.rows[0]?.[0])
  if (Number.isSafeInteger(epoch)) return epoch
  throw new Error(lease ? 'another node took the lease meanwhile' : 'the database has no owner row')
}

/** The statement of `raiseEpoch`. */
export function epochRaise(now: number, lease: HeldLease | null): Statement {
  return {
    sql: `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0 WHERE id = 1 AND ${HAS_LEASE} RETURNING epoch`,
    args: [Math.max(0, Math.floor(now / 1000)), lease?.nodeId ?? null, lease?.term ?? null],
  }
}
