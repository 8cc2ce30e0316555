import { randomBytes } from 'node:crypto'
import { eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { type CellName, MAIN_CELL } from '../../../../core/cluster/cells'
import { cells } from '../schema/directory'

type Rows = (sql: string) => Promise<readonly (readonly unknown[])[]>

export interface CellOfAll {
  readonly name: CellName
  /** All cells in the settings. */
  readonly all: readonly CellName[]
}

/**
 * Throws if a database belongs to a different cell, before anything is written to it. For the database of `main`, also throws if accounts are in a cell
 * that is no longer in the settings.
 */
export async function refuseOtherCell(rows: Rows, { name: cell, all }: CellOfAll): Promise<void> {
  const tables = await rows("SELECT name FROM sqlite_master WHERE name IN ('cells', 'account_directory')")
  const exists = (table: string) => tables.some(([name]) => name === table)
  const known = exists('cells') ? (await rows('SELECT name FROM cells')).map(([name]) => String(name)) : []
  if (cell === MAIN_CELL) {
    if (known.length > 0 && !known.includes(MAIN_CELL))
      throw new Error(`DATABASE_URL is the database of the cell ${known.join()}. Set it to the database of main`)
    const left = known.filter((name) => !all.includes(name))
    if (left.length > 0)
      throw new Error(
        `Accounts are in ${left.join(' and ')}, but CELL_DATABASE_URLS does not name that database. Add it again`,
      )
    return
  }
  const other = known.find((name) => name !== cell)
  if (other !== undefined)
    throw new Error(
      `The database of ${cell} in CELL_DATABASE_URLS belongs to ${other}. Each cell has its own database, and keeps its position in the list`,
    )
  const users = exists('account_directory') ? await rows('SELECT 1 FROM account_directory LIMIT 1') : []
  if (users.length > 0)
    throw new Error(
      `The database of ${cell} in CELL_DATABASE_URLS belongs to another gateway. A new cell needs an empty database`,
    )
}

/** Gives a cell's database its id when it is first opened, and records it in the control database. Throws if the cell had a different database before. */
export async function registerCell(
  own: LibSQLDatabase,
  control: LibSQLDatabase,
  cell: CellName,
  now: number,
): Promise<void> {
  const idIn = async (db: LibSQLDatabase) => (await db.select().from(cells).where(eq(cells.name, cell)))[0]?.databaseId
  const [known, inControl] = await Promise.all([idIn(own), idIn(control)])
  if (known !== undefined && known === inControl) return
  const first = { name: cell, databaseId: randomBytes(16).toString('hex'), openedAt: now }
  await own.insert(cells).values(first).onConflictDoNothing()
  const databaseId = await idIn(own)
  if (databaseId === undefined) throw new Error(`the database of ${cell} has no id`)
  await control
    .insert(cells)
    .values({ ...first, databaseId })
    .onConflictDoNothing()
  if ((await idIn(control)) !== databaseId)
    throw new Error(
      `CELL_DATABASE_URLS has a different database for ${cell} than before. Name the same databases in the same order`,
    )
}

/** Whether the gateway of `main` has opened the control database, so that it has the tables of this version. */
export async function isControlOpened(control: LibSQLDatabase): Promise<boolean> {
  const rows = await control.select().from(cells).where(eq(cells.name, MAIN_CELL))
  return rows.length > 0
}
