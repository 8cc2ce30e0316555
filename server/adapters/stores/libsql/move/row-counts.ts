import type { Connection } from '../driver/worker/worker-connection'
import { quoted } from './row-text'

/** What changes tables with fewer rows goes in one message: for each, a server reads the whole schema, and the answer takes its way back. */
const FEW_ROWS = 1_000

/** How many rows each of these tables has. One message counts all small ones; a large one has a message, and its time limit, of its own. */
export async function countsOf(
  connection: Pick<Connection, 'send' | 'rows'>,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const statements = tables.map((table) => ({
    sql: `SELECT count(*) FROM (SELECT 1 FROM ${quoted(table)} LIMIT ${FEW_ROWS})`,
    args: [],
  }))
  const results = tables.length > 0 ? await connection.send({ op: 'batch', mode: 'read', statements }) : []
  const counts = new Map<string, number>()
  for (const [at, table] of tables.entries()) {
    const few = Number(results[at]?.rows[0]?.[0])
    const [row] = few < FEW_ROWS ? [] : await connection.rows(`SELECT count(*) FROM ${quoted(table)}`)
    counts.set(table, row ? Number(row[0]) : few)
  }
  return counts
}

/** What is done to tables, in its order, as messages: neighbours whose tables are small go in one. */
export function inMessages<T extends { readonly table: string }>(
  changes: readonly T[],
  counts: ReadonlyMap<string, number>,
): readonly (readonly T[])[] {
  const isSmall = ({ table }: T) => (counts.get(table) ?? 0) < FEW_ROWS
  const messages: T[][] = []
  for (const [at, change] of changes.entries()) {
    const before = changes[at - 1]
    if (before && isSmall(before) && isSmall(change)) messages.at(-1)?.push(change)
    else messages.push([change])
  }
  return messages
}
