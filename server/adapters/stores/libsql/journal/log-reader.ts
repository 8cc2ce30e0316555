import { closeSync, openSync, readSync } from 'node:fs'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { LogRange } from '../driver/worker-wire'
import { LogDamaged, lineAt } from './log-format'

/** Consecutive groups. */
export interface GroupsRead {
  readonly records: readonly JournalRecord[]
  /** The number of the last one. */
  readonly group: number
  /** The position after them. */
  readonly end: number
}

/** Enough for a batch of charges. Recently written data is in the page cache. */
const PIECE = 512 * 1024

/** Reads the synced part of the log. */
export class LogReader {
  private fd = -1
  private path = ''

  /**
   * The groups after `after`, from the start of the range: at least one, and as many as have at most `maxRecords` records and `maxBytes`
   * bytes together. Skips groups that the tables already have. `end` is the end of the range if nothing is left in it.
   */
  read(range: LogRange, after: number, maxRecords: number, maxBytes: number): GroupsRead {
    this.open(range.path)
    const records: JournalRecord[] = []
    let group = after
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
      if (line.number > group + 1) throw this.damaged(start + at)
      if (line.number > after) {
        bytes += line.end - at
        if (records.length > 0 && bytes > maxBytes) break
        const more = JSON.parse(line.payload()) as JournalRecord[] // written by us, with a valid checksum
        if (records.length > 0 && records.length + more.length > maxRecords) break
        records.push(...more)
        group = line.number
      }
      at = line.end
      if (records.length >= maxRecords) break
    }
    return { records, group, end: start + at }
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
