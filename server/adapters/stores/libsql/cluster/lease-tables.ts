/**
 * The tables of nodes, as migration 0041 makes them. A node needs them before it may migrate: only the holder of the lease does that. A test
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

/** One cell so far: the lease of the whole database. */
export const CELL = 'cell'

/** The database's clock, read in the statement that uses it. */
export const NOW = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)"

/** The node that owns the database now, if nodes own it: a process that is not one of them must leave it alone. */
export async function liveOwner(
  rows: (sql: string) => Promise<readonly (readonly unknown[])[]>,
): Promise<string | null> {
  const [known] = await rows("SELECT 1 FROM sqlite_master WHERE name = 'leases'")
  if (!known) return null
  const [owner] = await rows(`SELECT url FROM leases WHERE name = '${CELL}' AND expires_at >= ${NOW}`)
  return owner ? String(owner[0]) : null
}
