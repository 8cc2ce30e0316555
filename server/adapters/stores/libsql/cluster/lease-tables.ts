import { type CellName, MAIN_CELL } from '../../../../core/cluster/cells'
import { LEASE_MS } from '../../../../core/cluster/leases'

/**
 * The tables of nodes, as migration 0041 creates them. A node needs them before it may migrate, because only the holder of the lease does that. A test
 * compares both.
 */
export const LEASE_TABLES: readonly string[] = [
  `CREATE TABLE IF NOT EXISTS \`leases\` (
	\`name\` text PRIMARY KEY NOT NULL,
	\`node_id\` text NOT NULL,
	\`url\` text NOT NULL,
	\`term\` integer NOT NULL,
	\`taken_at\` integer NOT NULL,
	\`expires_at\` integer NOT NULL
)`,
  `CREATE TABLE IF NOT EXISTS \`nodes\` (
	\`id\` text PRIMARY KEY NOT NULL,
	\`url\` text NOT NULL,
	\`version\` text NOT NULL,
	\`skew_ms\` integer NOT NULL,
	\`started_at\` integer NOT NULL,
	\`seen_at\` integer NOT NULL
)`,
  `CREATE TABLE IF NOT EXISTS \`secrets\` (
	\`name\` text PRIMARY KEY NOT NULL,
	\`value\` text NOT NULL,
	\`created_at\` integer NOT NULL
)`,
]

/** The lease of `main`. With one cell, it is the lease of the whole database. */
export const MAIN_LEASE = 'cell'

/** The name of a cell's lease. */
export const leaseOf = (cell: CellName) => (cell === MAIN_CELL ? MAIN_LEASE : `${MAIN_LEASE}/${cell}`)

/** The cell of a lease. */
export const cellOf = (lease: string): CellName =>
  lease === MAIN_LEASE ? MAIN_CELL : lease.slice(MAIN_LEASE.length + 1)

/** Replaces a node's URL in the lease of a database whose data is being moved. */
export const MOVING_URL = 'gateway operator migrate-database'

/** The database's clock, read in the statement that uses it. */
export const NOW = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"

/**
 * Whether a lease is running. One that ends later than any lease can was granted before the database's clock was set back: it does not count. Its owner,
 * if alive, renews it, and no node waits until that time comes again.
 */
export const RUNS = `expires_at BETWEEN ${NOW} AND ${NOW} + ${2 * LEASE_MS}`

/** Whether a node is alive. One seen in the future was seen before the database's clock was set back. */
export const LIVES = `seen_at BETWEEN ${NOW} - ${LEASE_MS} AND ${NOW} + ${LEASE_MS}`

/** Whether a node still has the lease: `?2` is its id (null for a process that is not a node), `?3` the term, and `?4` the name of the lease. */
export const HAS_LEASE = '(?2 IS NULL OR EXISTS (SELECT 1 FROM leases WHERE name = ?4 AND node_id = ?2 AND term = ?3))'

/** The node that owns the database now, if any. A process that is not a node must then not use the database. */
export async function liveOwner(
  rows: (sql: string) => Promise<readonly (readonly unknown[])[]>,
): Promise<string | null> {
  const [known] = await rows("SELECT 1 FROM sqlite_master WHERE name = 'leases'")
  if (!known) return null
  const [owner] = await rows(`SELECT url FROM leases WHERE name = '${MAIN_LEASE}' AND ${RUNS}`)
  return owner ? String(owner[0]) : null
}
