import { type CellName, MAIN_CELL } from '../../../../core/cluster/cells'
import { TermTooLow } from '../../../../core/cluster/leases'
import { VERSION } from '../../../../core/version'
import { HAS_LEASE, leaseOf, NOW } from '../cluster/lease-tables'
import type { Connection } from './worker/worker-connection'
import type { SqlStatement } from './worker-wire'

/** A lease that this process took. Another one may have it by now. */
export interface HeldLease {
  readonly nodeId: string
  readonly term: number
  /** Whose database it is; `main` if it does not say. The leases of all cells are in the database of `main`. */
  readonly cell?: CellName
}

/**
 * Raises the epoch by one, and at least to the time in seconds: what is restored from an older copy begins above every epoch that the
 * original ever had. Resolves to the new epoch; from then on no older process commits anything. Throws if another node has the lease: one
 * that froze while it opened the database must not fence its successor. The database of another cell than `main` knows the highest term that
 * opened it: throws `TermTooLow` below that.
 */
export async function raiseEpoch(writer: Connection, now: number, lease: HeldLease | null): Promise<number> {
  const seen = lease && isElsewhere(lease) ? [termSeen(lease), highestTerm(lease)] : []
  const statements = [...seen, epochRaise(now, lease)]
  const results = await writer.send({ op: 'batch', mode: 'write', statements })
  const epoch = Number(results.at(-1)?.rows[0]?.[0])
  if (Number.isSafeInteger(epoch)) return epoch
  if (seen.length > 0) throw new TermTooLow(Number(results.at(-2)?.rows[0]?.[0]))
  throw new Error(lease ? 'another node took the lease meanwhile' : 'the database has no owner row')
}

function isElsewhere({ cell = MAIN_CELL }: HeldLease): boolean {
  return cell !== MAIN_CELL
}

/** Terms of a cell only rise, so one that is lower than the last is of a node that lost the lease. */
function termSeen({ nodeId, term, cell = MAIN_CELL }: HeldLease): SqlStatement {
  return {
    sql: `INSERT INTO leases (name, node_id, url, term, taken_at, expires_at) VALUES (?1, ?2, '', ?3, ${NOW}, 0)
      ON CONFLICT (name) DO UPDATE SET node_id = ?2, term = ?3, taken_at = ${NOW} WHERE term < ?3`,
    args: [leaseOf(cell), nodeId, term],
  }
}

function highestTerm({ cell = MAIN_CELL }: HeldLease): SqlStatement {
  return { sql: 'SELECT term FROM leases WHERE name = ?1', args: [leaseOf(cell)] }
}

/** The statement of `raiseEpoch`. */
export function epochRaise(now: number, lease: HeldLease | null): SqlStatement {
  return {
    sql: `UPDATE owner SET epoch = max(epoch + 1, ?1), asserted = max(epoch + 1, ?1), last_group = 0, version = ?5 WHERE id = 1 AND ${HAS_LEASE} RETURNING epoch`,
    args: [
      Math.max(0, Math.floor(now / 1000)),
      lease?.nodeId ?? null,
      lease?.term ?? null,
      leaseOf(lease?.cell ?? MAIN_CELL),
      VERSION,
    ],
  }
}
