import type { LibSQLDatabase } from 'drizzle-orm/libsql'

/** A Drizzle database over any schema; interactive transactions are not used. */
export type IdentityDatabase = Pick<LibSQLDatabase, 'select' | 'insert' | 'update' | 'delete' | 'batch'>
