import { sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { EntryKind } from '../../../../core/ledger/entry'
import type { BookSums } from '../../../../core/telemetry/telemetry'

interface Read {
  readonly sums: Map<EntryKind, number>
  /** The last entry in the sums. */
  readonly seq: number
}

/**
 * The sums of all ledger entries by kind, for the metrics. The first read takes charges from the daily sums of the usage, which are net of
 * reversals, and all other kinds from their index; each later one reads only the entries since. They equal a sum over all entries.
 */
export class LibsqlBooks {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>
  private read: Read | null = null
  private reading: Promise<BookSums> | null = null

  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  /** With all that was committed before the call. Rejects while the tables cannot be read. */
  sums(): Promise<BookSums> {
    this.reading ??= this.next().finally(() => {
      this.reading = null
    })
    return this.reading
  }

  private async next(): Promise<BookSums> {
    await this.applied()
    this.read = this.read ? await this.since(this.read) : await this.first()
    return Object.fromEntries(this.read.sums)
  }

  /** One statement, so that its sums are of one moment. */
  private async first(): Promise<Read> {
    const [row] = await this.db.all<{ net: number; seq: number; others: string }>(sql`SELECT
      (SELECT coalesce(sum(charged), 0) FROM usage_days) AS net,
      (SELECT coalesce(max(seq), 0) FROM entries) AS seq,
      (SELECT json_group_array(json_array(kind, total)) FROM
        (SELECT kind, sum(amount) AS total FROM entries WHERE kind <> 'charge' GROUP BY kind)) AS others`)
    if (!row) throw new Error('the books could not be read')
    const sums = new Map<EntryKind, number>(JSON.parse(row.others))
    sums.set('charge', row.net + (sums.get('reversal') ?? 0))
    return { sums, seq: row.seq }
  }

  private async since({ sums, seq }: Read): Promise<Read> {
    const rows = await this.db.all<{ kind: EntryKind; total: number; last: number }>(
      sql`SELECT kind, sum(amount) AS total, max(seq) AS last FROM entries WHERE seq > ${seq} GROUP BY kind`,
    )
    const next = new Map(sums)
    for (const { kind, total } of rows) next.set(kind, (next.get(kind) ?? 0) + total)
    return { sums: next, seq: Math.max(seq, ...rows.map(({ last }) => last)) }
  }
}
