import type { LogConnection } from './log-connection'

/** They wait for each other's locks, and renewals of the lease wait for them. */
const CHANGE_MS = 1_000

/** Groups per partition, each of which is dropped as a whole. */
const GROUPS = 65_536

/** `epoch` is the key, so that a take-over waits for the appends under way, which share it, and a renewal does not. */
const TABLES = [
  `CREATE TABLE IF NOT EXISTS gateway_lease (
    epoch bigint PRIMARY KEY, only_one boolean NOT NULL DEFAULT true UNIQUE CHECK (only_one),
    installation text NOT NULL, system text NOT NULL, timeline text NOT NULL,
    holder text NOT NULL, until timestamptz NOT NULL, given_up bigint,
    base_number bigint NOT NULL, base_chain text NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS gateway_log (
    number bigint PRIMARY KEY, epoch bigint NOT NULL, id uuid NOT NULL, chain text NOT NULL,
    at timestamptz NOT NULL DEFAULT clock_timestamp(), data bytea NOT NULL) PARTITION BY RANGE (number)`,
  'ALTER TABLE gateway_log ALTER COLUMN data SET STORAGE EXTERNAL',
]

export async function makeTables(connection: LogConnection): Promise<void> {
  const [found] = await connection.rows<{ has: boolean }>("SELECT to_regclass('gateway_log') IS NOT NULL AS has")
  if (found?.has) return
  for (const sql of TABLES) await connection.rows(sql)
}

export async function dropTables(connection: LogConnection): Promise<void> {
  await connection.rows('DROP TABLE IF EXISTS gateway_log, gateway_lease')
}

export function partitionOf(number: number): number {
  return Math.floor(number / GROUPS)
}

export async function makePartition(connection: LogConnection, partition: number): Promise<void> {
  const [found] = await connection.rows<{ has: boolean }>('SELECT to_regclass($1) IS NOT NULL AS has', [
    `gateway_log_${partition}`,
  ])
  if (found?.has) return
  await connection.rows(
    `CREATE TABLE gateway_log_${partition} PARTITION OF gateway_log FOR VALUES FROM (${partition * GROUPS}) TO (${(partition + 1) * GROUPS})`,
    [],
    CHANGE_MS,
  )
}

/** Drops the partitions before `partition` in which every group is older than `hours`. */
export async function dropPartitions(connection: LogConnection, partition: number, hours: number): Promise<void> {
  const all = await connection.rows<{ name: string }>(
    "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'gateway_log'::regclass",
  )
  for (const { name } of all) {
    const own = /gateway_log_(\d+)$/.exec(name)
    if (!own || Number(own[1]) >= partition) continue
    const [newest] = await connection.rows<{ is_old: boolean }>(
      `SELECT coalesce((SELECT at FROM ${name} ORDER BY number DESC LIMIT 1) < clock_timestamp() - make_interval(hours => $1), true) AS is_old`,
      [hours],
    )
    if (newest?.is_old) await connection.rows(`DROP TABLE ${name}`, [], CHANGE_MS)
  }
}
