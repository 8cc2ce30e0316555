import { Column, getTableColumns, gt, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { SQLiteColumn, SQLiteTable } from 'drizzle-orm/sqlite-core'

/** A table whose rows have an id. */
type TableWithId = SQLiteTable & { readonly id: SQLiteColumn }

/** Rows that are sent as one text. Of the longest rows together they are far below what a database server takes for a value. */
const PACK = 50

/**
 * The rows of a table after an id, in the order of ids, many of them sent as one JSON text: the client of a database server makes objects
 * with named cells, which takes most of the time of a start with a million rows. For tables without blobs.
 */
export async function packedRows<T extends TableWithId>(
  db: LibSQLDatabase,
  table: T,
  after: string | null,
  limit: number,
): Promise<T['$inferSelect'][]> {
  const columns = Object.entries(getTableColumns(table)).map(([name, column]) => ({ name, column, ...reading(column) }))
  const cells = sql.join(
    columns.map(({ column }) => sql`${column}`),
    sql`, `,
  )
  const where = after === null ? sql`` : sql`WHERE ${gt(table.id, after)}`
  const packs = await db.all<{ pack: string }>(
    sql`SELECT '[' || group_concat(cells) || ']' AS pack FROM (
      SELECT json_array(${cells}) AS cells, row_number() OVER (ORDER BY ${table.id}) - 1 AS place FROM ${table} ${where}
      ORDER BY ${table.id} LIMIT ${limit}) GROUP BY place / ${sql.raw(String(PACK))} ORDER BY place`,
  )
  return packs.flatMap(({ pack }) =>
    (JSON.parse(pack) as unknown[][]).map((values) => {
      const read: Record<string, unknown> = {}
      for (let i = 0; i < columns.length; i++) {
        const { name, column, isPlain } = columns[i] as (typeof columns)[number]
        const value = values[i]
        read[name] = isPlain || value === null ? value : column.mapFromDriverValue(value)
      }
      return read as T['$inferSelect'] // the names and types are those of the table
    }),
  )
}

/** Whether a column's values are used as they come. */
function reading(column: SQLiteColumn): { readonly isPlain: boolean } {
  return { isPlain: column.mapFromDriverValue === Column.prototype.mapFromDriverValue }
}
