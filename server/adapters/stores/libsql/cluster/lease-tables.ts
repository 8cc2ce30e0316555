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
