import type { JournalRecord } from '../../../../core/ledger/journal'
import type { FileDatabase } from '../driver/file/file-database'

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
