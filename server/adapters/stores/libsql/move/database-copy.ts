import { MoveProblem, type MoveProgress } from '../../../../core/backup/move'
import type { Connection } from '../driver/worker/worker-connection'
import type { SqlStatement } from '../driver/worker-wire'
import type { OpenLocation } from './database-location'
import { assertMove, MOVE_TABLE, MOVE_TRIGGER, type MoveMark, triggerStatement } from './move-mark'
import { countsOf, inMessages } from './row-counts'
import { insertLines, RunningSum, TableReader, type TableShape, type TableSum, tablesOf } from './row-text'

/** A condition on `sqlite_master`: tables that are neither internal nor the mark of a move. */
export const OTHER_TABLES = `type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND name NOT LIKE 'libsql\\_%' ESCAPE '\\' AND name <> '${MOVE_TABLE}'`

/** The nodes of this deployment and the keys between them. They belong to the location, not to the data. */
const NOT_COPIED = new Set(['nodes', 'leases', 'secrets'])

/** Whether the rows of a table are copied. */
export const isCopied = (name: string) => name !== MOVE_TABLE && !NOT_COPIED.has(name) && !name.startsWith('libsql_')

interface CopyParts {
  readonly source: Connection
  readonly target: OpenLocation
  /** The id of this copy's mark in the target, which every transaction there asserts. */
  readonly id: string
  readonly onProgress: (progress: MoveProgress) => void
}

/** Copies all tables of a database that no process writes to into an empty one: table by table, in pages. */
export class DatabaseCopy {
  private readonly parts: CopyParts
  private readonly sums = new Map<string, TableSum>()
  private shapes: readonly TableShape[] = []
  private total = 0

  constructor(parts: CopyParts) {
    this.parts = parts
  }

  /** Creates the tables, copies their rows, and then creates indexes and triggers, so that these do not see the inserts. */
  async make(mark: Pick<MoveMark, 'kind' | 'location' | 'at'>): Promise<void> {
    const { source } = this.parts
    const schema = await schemaOf(source)
    const made = (types: readonly string[]) =>
      schema.flatMap(({ type, sql }) => (types.includes(type) ? [{ sql, args: [] }] : []))
    await this.write([...made(['table']), triggerStatement(mark)])
    this.shapes = await tablesOf(source, isCopied)
    const counts = await countsOf(
      source,
      this.shapes.map(({ name }) => name),
    )
    for (const count of counts.values()) this.total += count
    let rows = 0
    for (const shape of this.shapes) {
      if (counts.get(shape.name) === 0) this.sums.set(shape.name, new RunningSum().end())
      else
        await this.copyTable(shape, (more) => {
          rows += more
          this.report('copying', rows)
        })
    }
    const sequences = await sequencesOf(source)
    await this.write([
      { sql: 'DELETE FROM sqlite_sequence', args: [] },
      ...sequences.map((args) => ({
        sql: 'INSERT INTO sqlite_sequence (name, seq) VALUES (?, CAST(? AS INTEGER))',
        args: [...args],
      })),
    ])
    const indexes = schema.filter(({ type }) => type === 'index')
    let at = 0
    for (const message of inMessages(indexes, counts)) {
      this.parts.onProgress({ step: 'indexing', rows: at, total: indexes.length })
      await this.write(message.map(({ sql }) => ({ sql, args: [] })))
      at += message.length
    }
    await this.write(made(['trigger', 'view']))
  }

  /** Reads the copy back. Throws unless it has the same tables, indexes, triggers and rows as the original. */
  async compare(): Promise<void> {
    const { source, target } = this.parts
    const [schema, copied] = [await schemaOf(source), await schemaOf(target.reader)]
    const texts = (of: readonly object[]) =>
      of
        .map((one) => JSON.stringify(one))
        .sort()
        .join()
    if (texts(schema) !== texts(copied)) throw different('its tables, indexes or triggers')
    if ((await sequencesOf(source)).join() !== (await sequencesOf(target.reader)).join())
      throw different('the next numbers of its rows')
    const [full, empty] = [this.shapes.filter(this.hasRows), this.shapes.filter((shape) => !this.hasRows(shape))]
    const names = empty.map(({ name }) => name)
    for (const [name, count] of await countsOf(target.reader, names)) if (count > 0) throw differentRows(name, count, 0)
    let rows = 0
    for (const shape of full) {
      const sum = this.sums.get(shape.name)
      const found = await new TableReader(target.reader, shape).sum((more) => {
        rows += more
        this.report('comparing', rows)
      })
      if (found.rows !== sum?.rows) throw differentRows(shape.name, found.rows, sum?.rows)
      if (found.digest !== sum.digest) throw different(`the content of ${shape.name}`)
    }
  }

  private readonly hasRows = ({ name }: TableShape) => this.sums.get(name)?.rows !== 0

  /** The next page is read while one is written. */
  private async copyTable(shape: TableShape, onRows: (rows: number) => void): Promise<void> {
    const reader = new TableReader(this.parts.source, shape)
    const sum = new RunningSum()
    for (let page = await reader.page(null); page; ) {
      const { lines, end } = page
      const [next] = await Promise.all([reader.page(end), this.write([insertLines(shape, lines)])])
      sum.add(lines)
      onRows(lines.length)
      page = next
    }
    this.sums.set(shape.name, sum.end())
  }

  private report(step: MoveProgress['step'], rows: number): void {
    this.parts.onProgress({ step, rows, total: this.total })
  }

  /** Foreign keys are off, because tables come in any order. The copy is compared in the end. */
  private async write(statements: readonly SqlStatement[]): Promise<void> {
    await this.parts.target.writer.send({ op: 'migrate', statements: [assertMove(this.parts.id), ...statements] })
  }
}

function different(what: string): MoveProblem {
  return new MoveProblem(`the copy differs from the original in ${what}. The original was not changed`)
}

function differentRows(table: string, found: number, copied: number | undefined): MoveProblem {
  return different(`${table}: it has ${found} rows instead of ${copied}`)
}

interface Made {
  readonly type: string
  readonly name: string
  readonly table: string
  readonly sql: string
}

/** The statements that create the tables, indexes and triggers of a database, in the order of their creation. */
async function schemaOf(connection: Connection): Promise<readonly Made[]> {
  const found = await connection.rows(
    `SELECT type, name, tbl_name, sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'
      AND name NOT LIKE 'libsql\\_%' ESCAPE '\\' AND tbl_name <> '${MOVE_TABLE}' AND name <> '${MOVE_TRIGGER}' ORDER BY rowid`,
  )
  return found.map(([type, name, table, sql]) => ({
    ...{ type: String(type), name: String(name) },
    ...{ table: String(table), sql: String(sql) },
  }))
}

/** The last row numbers that were assigned, as text: the numbers of deleted rows must not be reused. */
async function sequencesOf(connection: Connection): Promise<readonly (readonly string[])[]> {
  const found = await connection.rows('SELECT name, CAST(seq AS TEXT) FROM sqlite_sequence ORDER BY name')
  return found.map((row) => row.map(String))
}
