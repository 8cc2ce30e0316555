import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/** Whether a column has one of these values. One parameter however many there are, so the statement stays the same. */
export function amongAll(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${asList(values)}))`
}

/** The same for a statement that is built once, which then gets `asList` of the values under this name. */
export function amongGiven(column: SQLiteColumn, name: string): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${sql.placeholder(name)}))`
}

export function asList(values: readonly string[]): string {
  return JSON.stringify(values)
}
