import type { Connection } from '../driver/worker/worker-connection'
import { quotedName } from './row-text'

/** Tables with fewer rows are changed in one message: each message makes a server read the whole schema and costs a round trip. */
const FEW_ROWS = 1_000

/** How many rows each of these tables has. One message counts all small tables; a large one has its own message and time limit. */
export async function countsOf(
  connection: Pick<Connection, 'send' | 'rows'>,
  tables: readonly string[],
): Promise<ReadonlyMap<string, number>> {
  const statements = tables.map((table) => ({
    sql: `SELECT count(*) FROM (SELECT 1 FROM ${quotedName(table)} LIMIT ${FEW_ROWS})`,
    args: [],
  }))
  const results = tables.length > 0 ? await connection.send({ op: 'batch', mode: 'read', statements }) : []
  const counts = new Map<string, number>()
  for (const [at, table] of tables.entries()) {
    const few = Number(results[at]?.rows[0]?.[0])
    const [row] = few < FEW_ROWS ? [] : await connection.rows(`SELECT count(*) FROM ${quotedName(table)}`)
    counts.set(table, row ? Number(row[0]) : few)
  }
  return counts
}

/** Groups changes of tables into messages, in order: consecutive changes of small tables share one. */
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
