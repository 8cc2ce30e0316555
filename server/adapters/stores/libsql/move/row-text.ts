import { createHash } from 'node:crypto'
import type { Connection } from '../driver/worker/worker-connection'
import type { SqlStatement } from '../driver/worker-wire'

/** The stored size of a page's rows, if it has more than one. A libSQL server answers with at most 10 MB. */
const PAGE_BYTES = 512 * 1024
const PAGE_ROWS = 2_000

/** What is needed to copy a table. */
export interface TableShape {
  readonly name: string
  /** The columns to copy, in order; includes `rowid` if rows have one that is not a column. */
  readonly columns: readonly string[]
  /** The columns that sort and identify the rows. */
  readonly key: readonly string[]
}

/** Count and digest of the rows that were read, written or compared. */
export interface TableSum {
  readonly rows: number
  /** SHA-256 of all rows in the order of their key. */
  readonly digest: string
}

/** One page of rows, each as a line of text. */
interface Page {
  readonly lines: readonly string[]
  /** The key of its last row. */
  readonly end: string
}

/**
 * A value as lossless text: its type and content, however the driver treats integers above 2^53, text with NUL, or bytes that are not text.
 */
const textExpression = (value: string) =>
  `CASE typeof(${value}) WHEN 'integer' THEN CAST(${value} AS TEXT) WHEN 'text' THEN 't' || hex(${value}) WHEN 'null' THEN 'n'
    WHEN 'blob' THEN 'b' || hex(${value}) ELSE 'r' || printf('%!.17g', ${value}) END`

/** The value that a text represents. */
const valueFrom = (text: string) =>
  `CASE substr(${text}, 1, 1) WHEN 't' THEN CAST(unhex(substr(${text}, 2)) AS TEXT) WHEN 'n' THEN NULL
    WHEN 'b' THEN unhex(substr(${text}, 2)) WHEN 'r' THEN iif(${text} LIKE '%Inf', iif(${text} LIKE '%-%', -9e999, 9e999), CAST(substr(${text}, 2) AS REAL))
    ELSE CAST(${text} AS INTEGER) END`

const joined = (values: readonly string[]) => values.map(textExpression).join(" || ' ' || ")
export const quotedName = (name: string) => `"${name.replaceAll('"', '""')}"`

/** The tables of a database, by name; `isCopied` chooses. */
export async function tablesOf(
  connection: Pick<Connection, 'rows'>,
  isCopied: (name: string) => boolean,
): Promise<readonly TableShape[]> {
  const tables = await connection.rows(
    "SELECT name, wr FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name",
  )
  const columns = await connection.rows(
    `SELECT l.name, c.name, c.type, c.pk FROM pragma_table_list l, pragma_table_info(l.name) c
      WHERE l.schema = 'main' AND l.type = 'table' ORDER BY l.name, c.cid`,
  )
  return tables.flatMap(([table, isWithoutRowid]) => {
    const name = String(table)
    if (!isCopied(name)) return []
    const own = columns.filter(([of]) => of === table)
    const names = own.map(([, column]) => String(column))
    const primary = own.filter(([, , , place]) => Number(place) > 0).sort((a, b) => Number(a[3]) - Number(b[3]))
    const isRowid = primary.length === 1 && String(primary[0]?.[2]).toUpperCase() === 'INTEGER'
    if (Number(isWithoutRowid) === 1 || isRowid)
      return [{ name, columns: names, key: primary.map(([, column]) => String(column)) }]
    return [{ name, columns: ['rowid', ...names], key: ['rowid'] }]
  })
}

/** Reads a table page by page. No other process may write to it meanwhile. */
export class TableReader {
  private readonly connection: Pick<Connection, 'send'>
  private readonly table: TableShape

  constructor(connection: Pick<Connection, 'send'>, table: TableShape) {
    this.connection = connection
    this.table = table
  }

  /** The rows after a key; null after the last one. */
  async page(after: string | null): Promise<Page | null> {
    const [[end] = []] = await this.rows(this.endSql(after !== null), keyArgs(after))
    if (end === undefined) return null
    const args = [...keyArgs(after), ...keyArgs(String(end))]
    const lines = (await this.rows(this.linesSql(after !== null), args)).map(([line]) => String(line))
    return { lines, end: String(end) }
  }

  /** Reads all rows. */
  async sum(onRows: (rows: number) => void): Promise<TableSum> {
    const sum = new RunningSum()
    for (let page = await this.page(null); page; page = await this.page(page.end)) {
      sum.add(page.lines)
      onRows(page.lines.length)
    }
    return sum.end()
  }

  private async rows(sql: string, args: SqlStatement['args']) {
    const [result] = await this.connection.send({ op: 'batch', mode: 'read', statements: [{ sql, args }] })
    return result?.rows ?? []
  }

  /** The key of the last row that fits into a page; at least the first one. */
  private endSql(isLater: boolean): string {
    const { name, columns, key } = this.table
    const aliases = key.map((_, at) => `k${at}`)
    const size = columns.map((column) => `coalesce(octet_length(${quotedName(column)}), 0)`).join(' + ')
    const keys = key.map((column, at) => `${quotedName(column)} AS k${at}`).join(', ')
    const order = key.map(quotedName).join(', ')
    return `SELECT ${joined(aliases)} FROM (
      SELECT ${aliases}, row_number() OVER page AS n, sum(size) OVER page AS bytes FROM (
        SELECT ${keys}, ${size} AS size FROM ${quotedName(name)} ${isLater ? `WHERE ${this.beyond('>', 0)}` : ''} ORDER BY ${order} LIMIT ${PAGE_ROWS})
      WINDOW page AS (ORDER BY ${aliases} ROWS UNBOUNDED PRECEDING))
      WHERE n = 1 OR bytes <= ${PAGE_BYTES} ORDER BY n DESC LIMIT 1`
  }

  private linesSql(isLater: boolean): string {
    const { name, columns, key } = this.table
    const from = isLater ? `${this.beyond('>', 0)} AND ` : ''
    const to = this.beyond('<=', isLater ? key.length : 0)
    return `SELECT ${joined(columns.map(quotedName))} FROM ${quotedName(name)} WHERE ${from}${to} ORDER BY ${key.map(quotedName).join(', ')}`
  }

  private beyond(operator: '>' | '<=', firstArg: number): string {
    const { key } = this.table
    const values = key.map((_, at) => valueFrom(`?${firstArg + at + 1}`))
    return `(${key.map(quotedName).join(', ')}) ${operator} (${values.join(', ')})`
  }
}

const keyArgs = (key: string | null) => key?.split(' ') ?? []

/** Inserts lines that a `TableReader` read. */
export function insertLines({ name, columns }: TableShape, lines: readonly string[]): SqlStatement {
  const texts = columns.map((_, at) => `value->>${at} AS v${at}`).join(', ')
  const values = columns.map((_, at) => valueFrom(`v${at}`)).join(', ')
  return {
    // The limit keeps SQLite from reading the JSON again for each use of a value.
    sql: `INSERT INTO ${quotedName(name)} (${columns.map(quotedName).join(', ')}) SELECT ${values} FROM (SELECT ${texts} FROM json_each(?1) LIMIT -1)`,
    args: [JSON.stringify(lines.map((line) => line.split(' ')))],
  }
}

/** Adds up the rows of a table. */
export class RunningSum {
  private readonly hash = createHash('sha256')
  private rows = 0

  add(lines: readonly string[]): void {
    this.rows += lines.length
    for (const line of lines) this.hash.update(`${line}\n`)
  }

  end(): TableSum {
    return { rows: this.rows, digest: this.hash.digest('hex') }
  }
}
