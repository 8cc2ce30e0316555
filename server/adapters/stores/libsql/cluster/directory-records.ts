import { eq, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CellName } from '../../../../core/cluster/cells'
import type { DirectoryPart, DirectoryRecord } from '../../../../core/cluster/sync-directory'
import type { AccountId } from '../../../../core/ids'
import { accountDirectory, cells, keyDirectory, paymentDirectory } from '../schema/directory'
import { cellsOfAccounts } from './cell-directory'

/** An account as its cell stores it. */
export interface DirectoryAccount extends DirectoryRecord {
  readonly name: AccountId
  readonly userId: string
  readonly createdAt: number
}

interface Held {
  readonly name: string
  readonly cell: CellName
}

/** Keys, or payments and references, in the directory. */
class LibsqlNameRecords implements DirectoryPart<DirectoryRecord> {
  private readonly db: LibSQLDatabase
  private readonly table: typeof keyDirectory | typeof paymentDirectory
  private readonly column: SQL

  /** `column`: the one with the names. */
  constructor(db: LibSQLDatabase, table: LibsqlNameRecords['table'], column: 'hash' | 'claim') {
    this.db = db
    this.table = table
    this.column = sql`${sql.identifier(column)}`
  }

  async holders(names: readonly string[]): Promise<ReadonlyMap<string, CellName>> {
    const rows = await this.db.all<Held>(
      sql`SELECT ${this.column} AS name, cell FROM ${this.table} WHERE ${this.column} IN (SELECT value FROM json_each(${JSON.stringify(names)}))`,
    )
    return new Map(rows.map(({ name, cell }) => [name, cell]))
  }

  /** Raises the revision in the same commit: earlier answers may be wrong (`LibsqlCellDirectory.revision`). */
  async add(rows: readonly DirectoryRecord[], cell: CellName): Promise<readonly string[]> {
    const all = JSON.stringify(rows.map(({ name, keepUntil }) => [name, keepUntil]))
    const added = sql`INSERT INTO ${this.table} (${this.column}, cell, keep_until)
      SELECT value->>0, ${cell}, value->>1 FROM json_each(${all}) WHERE true
      ON CONFLICT (${this.column}) DO UPDATE SET keep_until = keep_until RETURNING ${this.column} AS name, cell`
    const raised = this.db
      .update(cells)
      .set({ revision: sql`${cells.revision} + 1` })
      .where(eq(cells.name, cell))
    const [held] = await this.db.batch([this.db.all<Held>(added), raised])
    return held.flatMap((row) => (row.cell === cell ? [] : row.name))
  }
}

/** The accounts in the directory. A missing one has no role, and its owner may be lost: users are in the control database. */
class LibsqlAccountRecords implements DirectoryPart<DirectoryAccount> {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  holders(accounts: readonly string[]): Promise<ReadonlyMap<string, CellName>> {
    return cellsOfAccounts(this.db, accounts)
  }

  /** An account also counts as another cell's if its user has a different account in the directory: the user is routed to that one. */
  async add(rows: readonly DirectoryAccount[], cell: CellName): Promise<readonly string[]> {
    const all = JSON.stringify(rows.map(({ name, userId, createdAt }) => [name, userId, createdAt]))
    await this.db
      .insert(accountDirectory)
      .select(sql`SELECT value->>0, value->>1, NULL, value->>2, ${cell} FROM json_each(${all}) WHERE true`)
      .onConflictDoNothing()
    const holders = await this.holders(rows.map(({ name }) => name))
    return rows.flatMap(({ name }) => (holders.get(name) === cell ? [] : name))
  }
}

/** The records of cells in the directory, by kind. */
export function directoryRecords(db: LibSQLDatabase): DirectoryRecords {
  return {
    keys: new LibsqlNameRecords(db, keyDirectory, 'hash'),
    payments: new LibsqlNameRecords(db, paymentDirectory, 'claim'),
    accounts: new LibsqlAccountRecords(db),
  }
}

export interface DirectoryRecords {
  readonly keys: DirectoryPart<DirectoryRecord>
  /** And references. */
  readonly payments: DirectoryPart<DirectoryRecord>
  readonly accounts: DirectoryPart<DirectoryAccount>
}
