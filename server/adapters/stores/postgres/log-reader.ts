import { chained, type LogEnd, type LoggedGroup } from '../../../core/ledger/log-copy'
import type { Sealing } from '../../../core/sealing'
import { type LeaseRow, leaseRow } from './lease'
import { LogConnection, OTHER_SERVER, UnusableLog } from './log-connection'
import { dropTables } from './log-tables'

const LAST = 'SELECT number::float8 AS number, chain FROM gateway_log ORDER BY number DESC LIMIT 1'
const LAST_AT = 'SELECT number::float8 AS number, chain FROM gateway_log WHERE at <= $1 ORDER BY number DESC LIMIT 1'
const AT = 'SELECT number::float8 AS number, chain FROM gateway_log WHERE number = $1'
const PAGE = `SELECT number::float8 AS number, chain, data FROM gateway_log WHERE number > $1 AND number <= $2
  ORDER BY number`
/** Groups are between 1 kB and 1 MB. */
const FIRST_PAGE = 16
const LARGEST_PAGE = 2048
const PAGE_BYTES = 4 * 1024 * 1024

function baseOf({ base_number: number, base_chain: chain }: LeaseRow): LogEnd {
  return { number, chain }
}

/** Without groups, where the lease's row says that it begins. */
export async function endOf(connection: LogConnection, row: LeaseRow): Promise<LogEnd> {
  return (await lastOf(connection)) ?? baseOf(row)
}

async function lastOf(connection: LogConnection): Promise<LogEnd | null> {
  const [last] = await connection.rows<LogEnd>(LAST)
  return last ?? null
}

export async function endAt(connection: LogConnection, row: LeaseRow, number: number): Promise<LogEnd | null> {
  if (number === row.base_number) return baseOf(row)
  const [found] = await connection.rows<LogEnd>(AT, [number])
  return found ?? null
}

/** Up to one of them, or the last. Some at a time, in pages that follow the size of the groups. */
export async function* groupsAfter(connection: LogConnection, sealing: Sealing, from: LogEnd, to?: LogEnd | null) {
  const last = to === undefined ? await lastOf(connection) : to
  let size = FIRST_PAGE
  for (let end = from; last && end.number < last.number; ) {
    const rows = await connection.rows<{ number: number; chain: string; data: Buffer }>(PAGE, [
      end.number,
      Math.min(last.number, end.number + size),
    ])
    const groups: LoggedGroup[] = []
    let bytes = 0
    for (const { number, chain, data } of rows) {
      const group = { number, payload: opened(sealing, data, { number, chain }) }
      const next = chained(end, group)
      if (number !== end.number + 1 || next.chain !== chain)
        throw new UnusableLog(`group ${number} at LOG_URL does not continue group ${end.number}`)
      groups.push(group)
      bytes += data.length
      end = next
    }
    if (groups.length === 0) throw new UnusableLog(`group ${end.number + 1} is missing at LOG_URL`)
    yield groups
    size = bytes > PAGE_BYTES ? Math.max(1, size >> 1) : Math.min(LARGEST_PAGE, size * 2)
  }
}

function placeOf({ number, chain }: LogEnd) {
  return { table: 'gateway_log', row: String(number), column: chain }
}

/** Compressed first: a charge is 2 kB of JSON, and a row of more than 2 kB takes PostgreSQL four writes. */
export function sealed(sealing: Sealing, payload: string, end: LogEnd): Buffer {
  return Buffer.from(sealing.seal(Bun.zstdCompressSync(payload, { level: 1 }).toString('base64'), placeOf(end)))
}

function opened(sealing: Sealing, data: Buffer, end: LogEnd): string {
  const { text } = sealing.open(data.toString(), placeOf(end))
  return Bun.zstdDecompressSync(Buffer.from(text, 'base64')).toString()
}

export function sumOf(data: Uint8Array): string {
  return new Bun.CryptoHasher('sha256').update(data).digest('hex')
}

/** Null in a database without a log. */
async function foundLease(connection: LogConnection): Promise<LeaseRow | null> {
  const [found] = await connection.rows<{ has: boolean }>("SELECT to_regclass('gateway_lease') IS NOT NULL AS has")
  return found?.has ? leaseRow(connection) : null
}

/** What a log has after the end of restored data. Reads only. */
export interface FoundLog {
  readonly installation: string
  /** How many groups the data lacks. */
  readonly groups: number
}

interface Examination {
  readonly sealing: Sealing
  readonly acceptsFailover: boolean
  /** Groups that were written later do not count; absent: all do. */
  readonly until?: Date | null
  /** Gets them in their order. */
  readonly take?: (groups: readonly LoggedGroup[]) => Promise<unknown>
}

/** Proves that the log at `url` continues data that ends at `local`, and that the keys open it. Takes no lease. */
export async function examineLog({ url, ...how }: Examination & { url: string }, local: LogEnd): Promise<FoundLog> {
  const connection = await LogConnection.open(url)
  try {
    const row = await knownLease(connection)
    return { installation: row.installation, groups: await groupsOf(connection, row, how, local) }
  } finally {
    connection.destroy()
  }
}

/** Throws `UnusableLog` in a database without a log, or another one than that of its last renewal. */
export async function knownLease(connection: LogConnection): Promise<LeaseRow> {
  const row = await foundLease(connection)
  if (!row) throw new UnusableLog('there is no log of a gateway at this URL')
  if (row.system !== connection.facts.system) throw new UnusableLog(OTHER_SERVER)
  return row
}

/**
 * How many groups the log has after the end of data, which it must continue. Refuses a server that was promoted since the last renewal without
 * having been a synchronous replica, unless a person says that nothing was lost.
 */
export async function groupsOf(
  connection: LogConnection,
  row: LeaseRow,
  { sealing, acceptsFailover, until = null, take }: Examination,
  local: LogEnd,
): Promise<number> {
  if (row.timeline !== connection.facts.timeline && !connection.facts.isReplicated && !acceptsFailover)
    throw new UnusableLog(
      'this PostgreSQL was promoted since the gateway last renewed its lease, and commits do not wait for a replica: it may lack charges that were answered. If it does not, add --accept-failover',
    )
  const [same, end] = [await endAt(connection, row, local.number), await endOf(connection, row)]
  if (end.number < local.number)
    throw new UnusableLog(
      `the log ends with group ${end.number} and the data with group ${local.number}, so that nothing is missing: restore without --log, and use an empty database at LOG_URL`,
    )
  if (same?.chain !== local.chain)
    throw new UnusableLog(
      same
        ? `group ${local.number} is another one in the log: the data was served without it, or is that of another gateway`
        : `the log does not have group ${local.number}, with which the data ends, any more (LOG_KEEP_HOURS)`,
    )
  const to = until === null ? end : ((await connection.rows<LogEnd>(LAST_AT, [until]))[0] ?? null)
  let groups = 0
  for await (const some of groupsAfter(connection, sealing, local, to)) {
    groups += some.length
    await take?.(some)
  }
  return groups
}

/** Removes the log of this installation, and its lease with it. */
export async function dropLog(url: string, installation: string): Promise<void> {
  const connection = await LogConnection.open(url)
  try {
    const row = await foundLease(connection)
    if (row && row.installation !== installation) throw new UnusableLog('LOG_URL has the log of another gateway')
    if (row) await dropTables(connection)
  } finally {
    connection.destroy()
  }
}
