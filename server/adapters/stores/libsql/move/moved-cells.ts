import { MoveProblem } from '../../../../core/backup/move'
import { type CellName, MAIN_CELL } from '../../../../core/cluster/cells'
import { MAIN_LEASE } from '../cluster/lease-tables'
import { databaseFile } from '../driver/file/database-file'
import type { SqlStatement } from '../driver/worker-wire'

type Rows = (sql: string) => Promise<readonly (readonly unknown[])[]>

interface Meant {
  /** The original's address. */
  readonly name: string
  /** The target database. */
  readonly to: string
  /** The cell to move. */
  readonly cell: CellName
}

/** Throws if the data belongs to a different cell, or cannot be served from the target. */
export async function requireCell(rows: Rows, { name, to, cell }: Meant): Promise<void> {
  const [known] = await rows("SELECT 1 FROM sqlite_master WHERE name = 'cells'")
  const names = known ? (await rows('SELECT name FROM cells ORDER BY name')).map(([one]) => String(one)) : []
  const own = names.length === 0 || names.includes(MAIN_CELL) ? MAIN_CELL : String(names[0])
  if (own !== cell)
    throw new MoveProblem(
      own === MAIN_CELL
        ? `${name} is the database of main, not of ${cell}`
        : `${name} is the database of the cell ${own}: move it with --cell ${own} and the settings of the nodes`,
    )
  if (databaseFile(to) === null) return
  const others = names.filter((one) => one !== MAIN_CELL)
  if (others.length > 0)
    throw new MoveProblem(
      `accounts are divided into cells (main and ${others.join(', ')}), which need libSQL servers and cannot be served from a file: move ${name} to another server`,
    )
}

/**
 * Copies the terms of leases to a new control database, for each cell other than `main`. Later terms must be higher: the databases of the cells refuse
 * lower ones.
 */
export async function termStatements(rows: Rows): Promise<readonly SqlStatement[]> {
  const leases = await rows(`SELECT name, term FROM leases WHERE name <> '${MAIN_LEASE}'`)
  return leases.map(([name, term]) => ({
    sql: `INSERT INTO leases (name, node_id, url, term, taken_at, expires_at) VALUES (?, '', '', ?, 0, 0)
      ON CONFLICT (name) DO UPDATE SET term = max(term, excluded.term)`,
    args: [String(name), Number(term)],
  }))
}
