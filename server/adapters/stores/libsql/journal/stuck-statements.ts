import { type AccountId, makeId, type RequestId } from '../../../../core/ids'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { StuckRecord } from '../../../../core/ledger/stuck-record'
import type { FileDatabase } from '../driver/file/file-database'
import type { SqlStatement } from '../driver/worker-wire'

const INSERT = `INSERT INTO stuck_records (id, at, account_id, request_id, source, reason, record) VALUES (?, ?, ?, ?, ?, ?, ?)`
/** Else the next start would charge the stream again, by what its hold knew. */
const END_HOLD = 'DELETE FROM kept_holds WHERE id = ?'

/** Changes with every record that gets stuck or is decided. */
export const STUCK_STATE = "SELECT count(*) || ' ' || coalesce(max(seq), 0) FROM stuck_records"
/** The state of a table without rows. */
export const NOTHING_STUCK = '0 0'

/** Puts a record aside that breaks a rule of the tables, to be run in one transaction. */
export function stuckStatements(record: JournalRecord, source: StuckRecord['source'], reason: string): SqlStatement[] {
  const at = timeOf(record)
  const { ends } = record
  const values = [
    makeId('stuck', at),
    at,
    accountOfRecord(record),
    requestOf(record),
    source,
    reason,
    JSON.stringify(record),
  ]
  return [{ sql: INSERT, args: values }, ...(ends ? [{ sql: END_HOLD, args: [ends] }] : [])]
}

export function accountOfRecord({ call, undoes, keeps, change, entries }: JournalRecord): AccountId | null {
  const account = (call ?? undoes)?.accountId ?? change?.accountId ?? keeps?.hold.account
  return account ?? entries?.[0]?.accountId ?? null
}

function requestOf({ call, undoes, keeps, ends, entries }: JournalRecord): RequestId | null {
  return (call ?? undoes)?.id ?? keeps?.hold.request ?? ends ?? entries?.[0]?.requestId ?? null
}

function timeOf({ call, undoes, keeps, entries }: JournalRecord): number {
  return entries?.[0]?.at ?? (call ?? undoes)?.at ?? keeps?.hold.at ?? Date.now()
}

/**
 * Charges that are reversed because their caller got a 503, while the charge is stuck or may become so. A reversal without its charge
 * would give money away, so both are left out, and the call is recorded as the 503 that it was.
 */
export class StuckUndone {
  private readonly db: Pick<FileDatabase, 'rows' | 'run'>

  constructor(db: Pick<FileDatabase, 'rows' | 'run'>) {
    this.db = db
  }

  /** Removes the stuck charges that these records reverse. */
  settled(records: readonly JournalRecord[]): readonly JournalRecord[] {
    return records.map((record) => {
      if (!record.undoes || !this.removed(record.undoes.id)) return record
      return served503(record.undoes)
    })
  }

  /** Leaves out each charge whose reversal follows. */
  withoutPairs(records: readonly JournalRecord[]): readonly JournalRecord[] {
    const undone = new Set(records.flatMap(({ undoes }) => undoes?.id ?? []))
    if (undone.size === 0) return records
    const paired = new Map(
      records.flatMap((record) => (record.call && undone.has(record.call.id) ? [[record.call.id, record]] : [])),
    )
    return records.flatMap((record) => {
      const charge = record.undoes && paired.get(record.undoes.id)
      if (record.undoes && charge) return [{ ...served503(record.undoes), ...(charge.ends && { ends: charge.ends }) }]
      return record.call && paired.has(record.call.id) ? [] : [record]
    })
  }

  private removed(request: string): boolean {
    const stuck = this.db.rows("SELECT 1 FROM stuck_records WHERE request_id = ? AND source = 'log'", [request])
    if (stuck.length > 0) this.db.run('DELETE FROM stuck_records WHERE request_id = ?', [request])
    return stuck.length > 0
  }
}

function served503(call: NonNullable<JournalRecord['undoes']>): JournalRecord {
  return { call: { ...call, status: 503, code: 'service_unavailable', charged: null }, entries: [] }
}
