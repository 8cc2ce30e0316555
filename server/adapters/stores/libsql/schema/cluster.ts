import { integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { instant } from '../driver/columns'

/** The nodes on this database (ADR 45). Nodes make these three tables themselves before the first migration: `cluster/lease-tables.ts`. */
export const nodes = sqliteTable('nodes', {
  id: text().primaryKey(),
  url: text().notNull(),
  version: text().notNull(),
  skewMs: integer('skew_ms').notNull(),
  startedAt: instant('started_at').notNull(),
  seenAt: instant('seen_at').notNull(),
})

/** Who owns what. A lease whose time is over, by the database's clock, is free. */
export const leases = sqliteTable('leases', {
  name: text().primaryKey(),
  nodeId: text('node_id').notNull(),
  url: text().notNull(),
  term: integer().notNull(),
  takenAt: instant('taken_at').notNull(),
  expiresAt: instant('expires_at').notNull(),
})

/** Fingerprints of what must be equal on all nodes, and of the time zones of each; and the keys that sign hops. */
export const secrets = sqliteTable('secrets', {
  name: text().primaryKey(),
  value: text().notNull(),
  createdAt: instant('created_at').notNull(),
})
