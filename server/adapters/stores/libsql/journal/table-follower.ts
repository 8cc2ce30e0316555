import { closeSync, openSync, readSync } from 'node:fs'
import type { InValue } from '@libsql/client'
import type { JournalRecord } from '../../../../core/ledger/journal'
import { chained, type LogEnd } from '../../../../core/ledger/log-copy'
import { reasonOf } from '../../../../core/result'
import type { FileDatabase } from '../driver/file/file-database'
import type { Applied, ApplyRequest, LogRange, UnappliedGroups } from '../driver/worker-wire'
import { writeInOrder } from './direct-changes'
import { type Group, groupRows, TOGETHER } from './group-statements'
import { LogDamaged, lineAt } from './log-format'
import { accountOfRecord, NOTHING_STUCK, STUCK_STATE, StuckUndone, stuckStatements } from './stuck-statements'

const NO_BEST_EFFORT: Pick<Group, 'notes' | 'lastUsed'> = { notes: [], lastUsed: [] }
/** When records of more accounts are refused at once, the tables are at fault and not the records. */
const MAX_ACCOUNTS = 8

/** One record that the tables refuse by itself. */
interface Refused {
  readonly record: JournalRecord
  readonly error: unknown
}

/**
 * Applies the log to the tables, on the thread of the only writing connection: reads the synced groups, builds the rows here, and
 * commits them together with the number of the last group, so that each group is applied exactly once, whatever fails. A record that
 * breaks a rule of the tables is put aside in the same transaction, and the others are applied without it.
 */
export class TableFollower {
  private readonly db: FileDatabase
  private readonly log = new LogReader()
  private readonly undone: StuckUndone

  constructor(db: FileDatabase) {
    this.db = db
    this.undone = new StuckUndone(db)
  }

  /** Applies one batch in one transaction, fenced by the epoch. Throws if it breaks a rule and has notes: they may be at fault. */
  apply(request: ApplyRequest): Applied {
    const bestEffort = request.bestEffort === null ? null : JSON.parse(request.bestEffort)
    try {
      return this.applied(request, (records, isLast) =>
        this.write({ records, ...((isLast && bestEffort) || NO_BEST_EFFORT) }),
      )
    } catch (error) {
      if (bestEffort !== null || !isOfRecord(error)) throw error
      return this.applied(request, (records) => this.writeOrPutAside(records))
    }
  }

  close(): void {
    this.log.close()
  }

  private applied(
    { epoch, log, maxRecords, maxBytes }: ApplyRequest,
    write: (records: readonly JournalRecord[], isLast: boolean) => void,
  ): Applied {
    return this.db.transaction(() => {
      this.db.run('UPDATE owner SET asserted = ? WHERE id = 1', [epoch])
      const [[number, chain] = []] = this.db.rows('SELECT applied_group, applied_chain FROM owner WHERE id = 1')
      const before = { number: Number(number), chain: String(chain) }
      const read = log && ('groups' in log ? keptGroups(log, before) : this.log.read(log, before, maxRecords, maxBytes))
      writeInOrder(this.db, read?.records ?? [], (records, isLast) =>
        write(this.stuck() === NOTHING_STUCK ? records : this.undone.settled(records), isLast),
      )
      const last = read?.last ?? before
      if (read)
        this.db.run('UPDATE owner SET applied_group = ?, applied_chain = ? WHERE id = 1', [last.number, last.chain])
      return { group: last.number, end: read?.end ?? null, stuck: this.stuck() }
    })
  }

  /** The state of the stuck records: another one when some were added or decided. */
  private stuck(): string {
    return String(this.one(STUCK_STATE))
  }

  private one(sql: string): unknown {
    return this.db.rows(sql)[0]?.[0]
  }

  private write(group: Group): void {
    for (const [{ all, one, some }, rows] of groupRows(group)) {
      if (one === null) {
        this.db.run(all, [JSON.stringify(rows)])
        continue
      }
      const values = rows as readonly InValue[][]
      const together = some === null ? 0 : rows.length - (rows.length % TOGETHER)
      for (let i = 0; some !== null && i < together; i += TOGETHER)
        this.db.run(some, values.slice(i, i + TOGETHER).flat())
      for (const row of values.slice(together)) this.db.run(one, row)
    }
  }

  private writeOrPutAside(records: readonly JournalRecord[]): void {
    const refused = this.writeHalves(this.undone.withoutPairs(records))
    const accounts = new Set(refused.map(({ record }) => accountOfRecord(record)))
    if (accounts.size > MAX_ACCOUNTS) throw refused[0]?.error
    for (const { record, error } of refused)
      for (const { sql, args } of stuckStatements(record, 'log', reasonOf(error))) this.db.run(sql, args)
  }

  /** Writes the records in halves until each that is refused stands alone, and returns those. */
  private writeHalves(records: readonly JournalRecord[]): readonly Refused[] {
    const error = this.refusalOf(records)
    const [record, ...others] = records
    if (error === null || !record) return []
    if (others.length === 0) return [{ record, error }]
    const half = records.length >> 1
    return [...this.writeHalves(records.slice(0, half)), ...this.writeHalves(records.slice(half))]
  }

  /** Writes all of them or none. Null if they are written. */
  private refusalOf(records: readonly JournalRecord[]): unknown {
    this.db.run('SAVEPOINT some', [])
    try {
      this.write({ records, ...NO_BEST_EFFORT })
      this.db.run('RELEASE some', [])
      return null
    } catch (error) {
      if (!isOfRecord(error)) throw error
      this.db.run('ROLLBACK TO some', [])
      this.db.run('RELEASE some', [])
      return error
    }
  }
}

/** Whether the record is at fault, and not the database as a whole: it breaks a rule, or has a value that no row can have. */
function isOfRecord(error: unknown): boolean {
  const { code } = Object(error) as { code?: unknown }
  if (typeof code !== 'string' || !code.startsWith('SQLITE_'))
    return error instanceof TypeError || error instanceof RangeError
  if (reasonOf(error).includes('owner_epoch_is_current')) return false
  return /^SQLITE_(CONSTRAINT|MISMATCH|TOOBIG|RANGE)/.test(code)
}

/** The groups that the tables lack. */
function keptGroups({ groups }: UnappliedGroups, before: LogEnd): GroupsRead {
  const missing = groups.filter(({ number }) => number > before.number)
  if (missing[0] && missing[0].number !== before.number + 1)
    throw new LogDamaged(`group ${before.number + 1} is in memory no more`)
  return {
    records: missing.flatMap(({ payload }) => JSON.parse(payload) as JournalRecord[]),
    last: missing.reduce(chained, before),
    end: 0,
  }
}

/** Consecutive groups. */
interface GroupsRead {
  readonly records: readonly JournalRecord[]
  /** The last one. */
  readonly last: LogEnd
  /** The position after them. */
  readonly end: number
}

/** Enough for a batch of charges. Recently written data is in the page cache. */
const PIECE = 512 * 1024

/** Reads the synced part of the log. */
class LogReader {
  private fd = -1
  private path = ''

  /**
   * The groups after `after`, from the start of the range: at least one, and as many as have at most `maxRecords` records and `maxBytes`
   * bytes together. Skips groups that the tables already have. `end` is the end of the range if nothing is left in it.
   */
  read(range: LogRange, after: LogEnd, maxRecords: number, maxBytes: number): GroupsRead {
    this.open(range.path)
    const records: JournalRecord[] = []
    let last = after
    let piece = this.piece(range.from, Math.min(range.to, range.from + PIECE))
    let [at, start] = [0, range.from]
    let bytes = 0
    while (start + at < range.to) {
      const line = lineAt(piece, at)
      if (!line) {
        const rest = Math.min(range.to, start + at + Math.max(PIECE, 2 * (piece.length - at)))
        if (start + piece.length === rest) throw this.damaged(start + at)
        ;[start, at] = [start + at, 0]
        piece = this.piece(start, rest)
        continue
      }
      if (line.number > last.number + 1) throw this.damaged(start + at)
      if (line.number > after.number) {
        bytes += line.end - at
        if (records.length > 0 && bytes > maxBytes) break
        const payload = line.payload()
        const more = JSON.parse(payload) as JournalRecord[] // written by us, with a valid checksum
        if (records.length > 0 && records.length + more.length > maxRecords) break
        records.push(...more)
        last = chained(last, { number: line.number, payload })
      }
      at = line.end
      if (records.length >= maxRecords) break
    }
    return { records, last, end: start + at }
  }

  close(): void {
    if (this.fd >= 0) closeSync(this.fd)
    this.fd = -1
    this.path = ''
  }

  /** The file is opened once: its writer empties it and never replaces it. */
  private open(path: string): void {
    if (path === this.path) return
    this.close()
    this.fd = openSync(path, 'r')
    this.path = path
  }

  private piece(from: number, to: number): Buffer {
    const bytes = Buffer.allocUnsafe(to - from)
    let length = 0
    while (length < bytes.length) {
      const read = readSync(this.fd, bytes, length, bytes.length - length, from + length)
      if (read === 0) throw this.damaged(from + length)
      length += read
    }
    return bytes
  }

  private damaged(at: number): LogDamaged {
    return new LogDamaged(`${this.path} has no good line at byte ${at}, though it was written there`)
  }
}
