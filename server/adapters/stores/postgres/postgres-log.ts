import { chained, type LogCopy, type LogEnd, type LoggedGroup } from '../../../core/ledger/log-copy'
import { reasonOf } from '../../../core/result'
import type { Sealing } from '../../../core/sealing'
import { LEASE_MS, Lease, type LeaseRow, leaseRow, takeLease } from './lease'
import type { LeaseFile } from './lease-file'
import { LogConnection, OTHER_SERVER, UnusableLog } from './log-connection'
import { endAt, endOf, groupsAfter, sealed, sumOf } from './log-reader'
import { dropPartitions, makePartition, makeTables, partitionOf } from './log-tables'

/** A continuous copy of the tables elsewhere. */
export interface CopiedTables {
  /** The last group that it is known to have. */
  readonly confirmedGroup: number
  /** Resolves to the transaction up to which it has everything now. Rejects when that is not sure in time. */
  sync(): Promise<number>
}

export interface PostgresLogOptions {
  readonly url: string
  readonly sealing: Sealing
  readonly file: LeaseFile
  readonly keepHours: number
  readonly leaseMs?: number
  /** Null: groups are dropped by their age alone. */
  readonly replica: CopiedTables | null
  /** Another process has the log now, or PostgreSQL has lost or changed what it acknowledged. */
  readonly onFatal: (reason: string) => void
  readonly onTrouble: (what: string, reason: string) => void
  readonly onNote: (line: string) => void
}

/** A group as its row, and what proves that a row is it. */
interface LogRecord extends LogEnd {
  /** The chain of the group before. */
  readonly previous: string
  readonly id: string
  readonly data: Uint8Array
  readonly sum: string
}

interface Row {
  readonly number: number
  readonly chain: string
  readonly id: string
  readonly sum: string
}

const APPEND = `INSERT INTO gateway_log (number, epoch, id, chain, data)
  SELECT $1::bigint, $2::bigint, $3::uuid, $4::text, $5::bytea FROM gateway_lease WHERE epoch = $2 FOR KEY SHARE
  RETURNING octet_length(data) AS bytes, encode(sha256(data), 'hex') AS sum`
/** By holder: the response to an earlier one may have been lost. */
const FENCE = 'UPDATE gateway_lease SET epoch = epoch + 1 WHERE holder = $1 RETURNING epoch::float8 AS epoch'
const ROWS = `SELECT number::float8 AS number, chain, id, encode(sha256(data), 'hex') AS sum
  FROM gateway_log WHERE number >= $1 ORDER BY number`
const RETRY_MS = 250
const UPKEEP_MS = 60_000
/** Groups that a promoted replica may lack. */
const RECENT_BYTES = 16 * 1024 * 1024

class Lost extends Error {}

/**
 * The copy of the log in PostgreSQL. Each group is one row, appended by one statement that also checks the lease's epoch; there is never an
 * open transaction. After a failure, whether the row is there is found out in this order: the own epoch is raised, which waits for an append
 * under way and refuses a later one, and then the row is read.
 */
export class PostgresLog implements LogCopy {
  private readonly options: PostgresLogOptions
  private readonly row: LeaseRow
  private readonly holder: string
  private readonly lease: Lease
  private connection: LogConnection
  private epoch: number
  private last: LogEnd
  private readonly recent: LogRecord[] = []
  private recentBytes = 0
  private readonly partitions = new Set<number>()
  private since: number | null = null
  private checkedAt = Number.NEGATIVE_INFINITY
  private isClosed = false

  private constructor(
    options: PostgresLogOptions,
    opened: { connection: LogConnection; row: LeaseRow; holder: string; epoch: number; sentAt: number; last: LogEnd },
  ) {
    this.options = options
    this.connection = opened.connection
    this.row = opened.row
    this.holder = opened.holder
    this.epoch = opened.epoch
    this.last = opened.last
    this.lease = new Lease({
      url: options.url,
      holder: this.holder,
      ms: options.leaseMs ?? LEASE_MS,
      sentAt: opened.sentAt,
      onLost: () => this.lost(new Lost(TAKEN)),
      upkeep: (connection) => this.upkeep(connection),
    })
  }

  /** Takes the lease: from then on no older process appends anything. The log begins at `local` if there is none yet. */
  static async open(options: PostgresLogOptions, local: LogEnd): Promise<PostgresLog> {
    const { url, file, onNote, leaseMs = LEASE_MS } = options
    const connection = await LogConnection.open(url)
    try {
      await makeTables(connection)
      const row = await installed(connection, file, local)
      const holder = crypto.randomUUID()
      const taken = await takeLease(connection, {
        installation: row.installation,
        holder,
        ended: endedHolders(file, row, holder),
        ms: leaseMs,
      })
      file.write({ installation: row.installation, holder })
      onNote(promise(connection))
      return new PostgresLog(options, { ...taken, connection, row, holder, last: await endOf(connection, row) })
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  get end(): LogEnd {
    return this.last
  }

  get problem(): string | null {
    return this.lease.isHeld ? null : 'PostgreSQL at LOG_URL did not renew the lease in time'
  }

  get waitingMs(): number {
    return this.since === null ? 0 : performance.now() - this.since
  }

  at(number: number): Promise<LogEnd | null> {
    return endAt(this.connection, this.row, number)
  }

  after(end: LogEnd): AsyncIterable<readonly LoggedGroup[]> {
    return groupsAfter(this.connection, this.options.sealing, end)
  }

  async append(group: LoggedGroup): Promise<void> {
    const end = chained(this.last, group)
    const data = sealed(this.options.sealing, group.payload, end)
    const record = { ...end, previous: this.last.chain, id: crypto.randomUUID(), data, sum: sumOf(data) }
    this.since = performance.now()
    try {
      // A connection that broke meanwhile may be to a server that has lost groups.
      while (!(await this.isInserted(record)) && !(await this.isThere(record)));
    } catch (error) {
      return this.lost(error)
    }
    this.since = null
    this.last = end
    this.recent.push(record)
    this.recentBytes += data.length
    while (this.recentBytes > RECENT_BYTES && this.recent.length > 1)
      this.recentBytes -= this.recent.shift()?.data.length ?? 0
  }

  async close(): Promise<void> {
    this.isClosed = true
    // A standby that has as much loses nothing by taking it at once.
    await this.lease.release((await this.options.replica?.sync().catch(() => null)) ?? null)
    this.connection.destroy()
  }

  /** False: unknown. */
  private async isInserted({ number, id, chain, data, sum }: LogRecord): Promise<boolean> {
    const { connection } = this
    if (!connection.isOpen) return false
    try {
      await this.preparePartition(connection, partitionOf(number))
      const values = [number, this.epoch, id, chain, data]
      const [row] = await connection.rows<{ bytes: number; sum: string }>(APPEND, values)
      return row?.bytes === data.length && row.sum === sum
    } catch {
      return false
    }
  }

  /** Whether PostgreSQL has the record. Resolves once that is certain: what was sent before can no longer be committed. */
  private async isThere(record: LogRecord): Promise<boolean> {
    let isTold = false
    for (;;) {
      if (this.isClosed) throw new Lost('closed')
      this.connection.destroy()
      try {
        this.connection = await this.fenced()
        const isFound = await this.compare(record)
        if (isTold) this.options.onNote('PostgreSQL at LOG_URL answers again')
        return isFound
      } catch (error) {
        if (error instanceof Lost || error instanceof UnusableLog) throw error
        if (!isTold) this.options.onTrouble('log copy', `charges wait for PostgreSQL at LOG_URL: ${reasonOf(error)}`)
        isTold = true
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
      }
    }
  }

  private async fenced(): Promise<LogConnection> {
    const connection = await LogConnection.open(this.options.url)
    try {
      if (connection.facts.system !== this.row.system) throw new Lost(OTHER_SERVER)
      const [row] = await connection.rows<{ epoch: number }>(FENCE, [this.holder])
      if (!row) throw new Lost(TAKEN)
      this.epoch = row.epoch
      this.partitions.clear()
      return connection
    } catch (error) {
      connection.destroy()
      throw error
    }
  }

  /** After the fence. Appends again what a promoted replica lacks, if nobody else wrote there. */
  private async compare(record: LogRecord): Promise<boolean> {
    for (;;) {
      const end = await endOf(this.connection, this.row)
      if (end.number >= record.number) {
        const [row, more] = await this.connection.rows<Row>(ROWS, [record.number])
        const isIt = row?.id === record.id && row.chain === record.chain && row.sum === record.sum
        if (!isIt || more) throw new Lost(`group ${record.number} at LOG_URL was written by another process`)
        return true
      }
      const missing = this.recent.find(({ number }) => number === end.number + 1)
      const isOurs = missing ? missing.previous === end.chain : Bun.deepEquals(end, this.last)
      if (!isOurs)
        throw new Lost(
          `PostgreSQL at LOG_URL ends with group ${end.number} of another history; this gateway wrote up to ${this.last.number}`,
        )
      if (!missing) return false
      if (!(await this.isInserted(missing)))
        throw new Error(`group ${end.number + 1}, which PostgreSQL lost, could not be appended again`)
    }
  }

  private async preparePartition(connection: LogConnection, partition: number): Promise<void> {
    if (this.partitions.has(partition)) return
    await makePartition(connection, partition)
    this.partitions.add(partition)
  }

  /** Makes the next partition ahead and drops old ones. */
  private async upkeep(connection: LogConnection): Promise<void> {
    if (connection.facts.system !== this.row.system) return this.lost(new Lost(OTHER_SERVER))
    if (performance.now() - this.checkedAt < UPKEEP_MS) return
    this.checkedAt = performance.now()
    const partition = partitionOf(this.last.number)
    await makePartition(connection, partition + 1)
    const { keepHours, replica } = this.options
    await dropPartitions(
      connection,
      partitionOf(Math.min(this.last.number, replica?.confirmedGroup ?? Infinity)),
      keepHours,
    )
  }

  private lost(error: unknown): Promise<never> {
    if (!this.isClosed) this.options.onFatal(reasonOf(error))
    return new Promise(() => undefined)
  }
}

const TAKEN = 'another gateway has the lease at LOG_URL: this one stops'

/** The lease's row, which is made where neither side has any. */
async function installed(connection: LogConnection, file: LeaseFile, local: LogEnd): Promise<LeaseRow> {
  const [known, found] = [file.read(), await leaseRow(connection)]
  if (found && known?.installation !== found.installation)
    throw new UnusableLog(
      known
        ? 'LOG_URL has the log of another gateway'
        : 'LOG_URL has the log of a gateway, and this data does not belong to it: restore a copy with "gateway operator restore COPY --log LOG_URL", or use another database',
    )
  if (found && found.system !== connection.facts.system) throw new UnusableLog(OTHER_SERVER)
  if (found) return found
  if (known && known.holder !== null)
    throw new UnusableLog(
      'LOG_URL is empty, but this gateway has a log elsewhere: set that LOG_URL, or run "gateway log off"',
    )
  const installation = known?.installation ?? crypto.randomUUID()
  // Before the row: a start that is killed between the two goes on with both.
  file.write({ installation, holder: null })
  const { system, timeline } = connection.facts
  await connection.rows(
    `INSERT INTO gateway_lease (epoch, installation, system, timeline, holder, until, base_number, base_chain)
      VALUES (1, $1, $2, $3, '', clock_timestamp() - interval '1 hour', $4, $5)`,
    [installation, system, timeline, local.number, local.chain],
  )
  return installed(connection, file, local)
}

/**
 * The holders of the lease that ended with this folder's last process, which is the only one that its lock lets run. Notes the next one
 * first, so that a start that is killed in between is known as well. Refuses data that another gateway has left behind: the log has
 * charges and keys, not everything.
 */
function endedHolders(file: LeaseFile, { installation, holder: current }: LeaseRow, next: string): readonly string[] {
  const known = file.read()
  const ours = [known?.holder, known?.next].filter((one) => typeof one === 'string')
  if (ours.length > 0 && current !== '' && !ours.includes(current))
    throw new UnusableLog(
      'another gateway had the log at LOG_URL since this data was served: restore a newer copy with "gateway operator restore COPY --log LOG_URL"',
    )
  // An empty one is that of a lease that nobody had yet.
  if (!file.isOriginal) return ['']
  file.write({ installation, holder: ours.includes(current) ? current : null, next })
  return ['', ...ours]
}

function promise({ facts }: LogConnection): string {
  if (!facts.isSynced)
    return 'LOG_URL: PostgreSQL has fsync off, so that its copy of the log may not survive a power loss'
  return facts.isReplicated
    ? 'LOG_URL: each charge is on a second PostgreSQL server, too, before it is answered'
    : 'LOG_URL: each charge is in PostgreSQL before it is answered; synchronous_standby_names is empty, so that losing this machine loses none, and losing both does'
}
