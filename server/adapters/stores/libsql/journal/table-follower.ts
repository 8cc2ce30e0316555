import type { InValue } from '@libsql/client'
import type { JournalRecord } from '../../../../core/ledger/journal'
import type { FileDatabase } from '../driver/file-database'
import type { Applied, ApplyRequest, UnappliedGroups } from '../driver/worker-wire'
import { type Group, groupRows, TOGETHER } from './group-statements'
import { LogDamaged } from './log-format'
import { type GroupsRead, LogReader } from './log-reader'

const NO_ASIDES: Pick<Group, 'notes' | 'lastUsed'> = { notes: [], lastUsed: [] }

/**
 * Applies the log to the tables, on the thread of the only writing connection: reads the synced groups, builds the rows here, and
 * commits them together with the number of the last group, so that each group is applied exactly once, whatever fails.
 */
export class TableFollower {
  private readonly db: FileDatabase
  private readonly log = new LogReader()

  constructor(db: FileDatabase) {
    this.db = db
  }

  /** Applies one batch in one transaction, fenced by the epoch. */
  apply({ epoch, log, maxRecords, asides }: ApplyRequest): Applied {
    return this.db.transaction(() => {
      this.db.run('UPDATE owner SET asserted = ? WHERE id = 1', [epoch])
      const before = Number(this.db.rows('SELECT applied_group FROM owner WHERE id = 1')[0]?.[0])
      const read = log && ('groups' in log ? keptGroups(log, before) : this.log.read(log, before, maxRecords))
      this.write({ records: read?.records ?? [], ...(asides === null ? NO_ASIDES : JSON.parse(asides)) })
      if (read) this.db.run('UPDATE owner SET applied_group = ? WHERE id = 1', [read.group])
      return { group: read?.group ?? before, end: read?.end ?? null }
    })
  }

  close(): void {
    this.log.close()
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
}

/** What the tables do not have yet. */
function keptGroups({ groups }: UnappliedGroups, before: number): GroupsRead {
  const missing = groups.filter(({ number }) => number > before)
  if (missing[0] && missing[0].number !== before + 1) throw new LogDamaged(`group ${before + 1} is in memory no more`)
  return {
    records: missing.flatMap(({ payload }) => JSON.parse(payload) as JournalRecord[]),
    group: missing.at(-1)?.number ?? before,
    end: 0,
  }
}
