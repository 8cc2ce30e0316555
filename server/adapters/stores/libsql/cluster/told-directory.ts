import { eq, type SQL, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { CellName } from '../../../../core/cluster/cells'
import type { DirectoryPart, Told } from '../../../../core/cluster/tell-directory'
import type { AccountId } from '../../../../core/ids'
import { accountDirectory, cells, keyDirectory, paymentDirectory } from '../schema/directory'
import { cellsOfAccounts } from './cell-directory'

/** An account as its cell has it. */
export interface ToldAccount extends Told {
  readonly name: AccountId
  readonly userId: string
  readonly createdAt: number
}

interface Held {
  readonly name: string
  readonly cell: CellName
}

/** Keys, or payments and references, in the directory. */
class LibsqlToldNames implements DirectoryPart<Told> {
  private readonly db: LibSQLDatabase
  private readonly table: typeof keyDirectory | typeof paymentDirectory
  private readonly column: SQL

  /** `column`: that of the names. */
  constructor(db: LibSQLDatabase, table: LibsqlToldNames['table'], column: 'hash' | 'claim') {
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

  /** Says in the same commit that who asked before may have got a wrong answer (`LibsqlCellDirectory.told`). */
  async add(rows: readonly Told[], cell: CellName): Promise<readonly string[]> {
    const all = JSON.stringify(rows.map(({ name, keepUntil }) => [name, keepUntil]))
    const added = sql`INSERT INTO ${this.table} (${this.column}, cell, keep_until)
      SELECT value->>0, ${cell}, value->>1 FROM json_each(${all}) WHERE true
      ON CONFLICT (${this.column}) DO UPDATE SET keep_until = keep_until RETURNING ${this.column} AS name, cell`
    const told = this.db
      .update(cells)
      .set({ told: sql`${cells.told} + 1` })
      .where(eq(cells.name, cell))
    const [held] = await this.db.batch([this.db.all<Held>(added), told])
    return held.flatMap((row) => (row.cell === cell ? [] : row.name))
  }
}

/** The accounts in the directory. One that it lacks has no role, and its owner may be lost: users are in the control database. */
class LibsqlToldAccounts implements DirectoryPart<ToldAccount> {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  holders(accounts: readonly string[]): Promise<ReadonlyMap<string, CellName>> {
    return cellsOfAccounts(this.db, accounts)
  }

  /** An account whose user has another one in the directory is another's, too: that user is led to the other one. */
  async add(rows: readonly ToldAccount[], cell: CellName): Promise<readonly string[]> {
    const all = JSON.stringify(rows.map(({ name, userId, createdAt }) => [name, userId, createdAt]))
    await this.db
      .insert(accountDirectory)
      .select(sql`SELECT value->>0, value->>1, NULL, value->>2, ${cell} FROM json_each(${all}) WHERE true`)
      .onConflictDoNothing()
    const holders = await this.holders(rows.map(({ name }) => name))
    return rows.flatMap(({ name }) => (holders.get(name) === cell ? [] : name))
  }
}

/** What cells tell the directory, by kind. */
export function toldParts(db: LibSQLDatabase): ToldParts {
  return {
    keys: new LibsqlToldNames(db, keyDirectory, 'hash'),
    payments: new LibsqlToldNames(db, paymentDirectory, 'claim'),
    accounts: new LibsqlToldAccounts(db),
  }
}

export interface ToldParts {
  readonly keys: DirectoryPart<Told>
  /** References, too. */
  readonly payments: DirectoryPart<Told>
  readonly accounts: DirectoryPart<ToldAccount>
}
