import { sql } from 'drizzle-orm'
import { check, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'

/**
 * The one process that may write. Each group of writes first asserts its epoch here; when another process has raised the
 * epoch, the check fails and with it the whole group (the owner fence, spec D4).
 */
export const owner = sqliteTable(
  'owner',
  {
    id: integer().primaryKey(),
    epoch: integer().notNull(),
    asserted: integer().notNull(),
    lastGroup: integer('last_group').notNull(),
    /** The last journal group applied to the tables, written in the same transaction as the group. */
    appliedGroup: integer('applied_group').notNull().default(0),
    /** The checksum over all groups up to it (`chainOf`). Empty before the first. */
    appliedChain: text('applied_chain').notNull().default(''),
    /** The version of the gateway that opened the data last. Null: a version that leaves no mark next to a database file. */
    version: text(),
  },
  (table) => [check('owner_epoch_is_current', sql`${table.asserted} = ${table.epoch}`)],
)

/**
 * Changes of keys, limits, accounts and incoming money that the log lacks, while it has a copy elsewhere: written in the transaction of
 * the change, and removed when the group of the log that has it is applied. So a row here says that the tables have the change.
 */
export const directChanges = sqliteTable('direct_changes', {
  seq: integer().primaryKey({ autoIncrement: true }),
  /** A `DirectChange` without its number, as JSON. */
  change: text().notNull(),
})
