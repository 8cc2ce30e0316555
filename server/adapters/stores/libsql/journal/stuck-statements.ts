import type { AccountId, RequestId } from '../../../../core/ids'
import { makeId } from '../../../../core/ids'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { StuckRecord } from '../../../../core/ledger/stuck-record'
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
