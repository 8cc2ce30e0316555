import { type SQL, sql } from 'drizzle-orm'
import type { SQLiteColumn } from 'drizzle-orm/sqlite-core'

/**
 * Whether a column has one of the values that a statement gets, as `asList`, under this name. One parameter however many there are, so the
 * statement stays the same.
 */
export function amongAll(column: SQLiteColumn, name: string): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${sql.placeholder(name)}))`
}

/** The same for a statement that is built anew: they may be more than a statement takes parameters. */
export function isAmong(column: SQLiteColumn, values: readonly string[]): SQL {
  return sql`${column} IN (SELECT value FROM json_each(${asList(values)}))`
}

export function asList(values: readonly string[]): string {
  return JSON.stringify(values)
}
