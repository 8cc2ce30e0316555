import type { Client, InArgs, InStatement, InValue, ResultSet, Row, Value } from '@libsql/client'
import type { Connection } from './worker/worker-connection'
import type { SqlStatement, WireResult } from './worker-wire'
import type { WriteQueue } from './write-queue'
import type { WriteWatch } from './write-watch'

/**
 * Implements libSQL's `Client` with the two workers, so that Drizzle and better-auth work unchanged: reads go to the reader,
 * everything else through the fenced write queue. Interactive transactions are refused, because of 50 concurrent ones that read and
 * then write, 49 fail.
 */
export function sqlClient(
  reader: Pick<Connection, 'send'>,
  writes: Pick<WriteQueue, 'batch'>,
  writer: Connection,
  watch: WriteWatch | null = null,
): Client {
  const run = async (statements: readonly SqlStatement[], isRead: boolean) => {
    const results = isRead
      ? await reader.send({ op: 'batch', mode: 'read', statements })
      : await (watch ? watch.during(statements, () => writes.batch(statements)) : writes.batch(statements))
    return results.map(resultSet)
  }
  const client: Client = {
    closed: false,
    protocol: 'file',
    async execute(statement: InStatement | string, args?: InArgs) {
      const one = plain(typeof statement === 'string' ? { sql: statement, args: args ?? [] } : statement)
      const [result] = await run([one], isRead(one.sql))
      if (!result) throw new Error('a statement gave no result')
      return result
    },
    batch(statements) {
      const all = statements.map((statement) =>
        plain(Array.isArray(statement) ? { sql: statement[0], args: statement[1] ?? [] } : statement),
      )
      return run(
        all,
        all.every((statement) => isRead(statement.sql)),
      )
    },
    async migrate(statements) {
      return (await writer.send({ op: 'migrate', statements: statements.map(plain) })).map(resultSet)
    },
    transaction: () => Promise.reject(new Error('interactive transactions are not used here: make it one batch')),
    executeMultiple: () => Promise.reject(new Error('scripts are not used here')),
    sync: () => Promise.reject(new Error('there is no replica to sync')),
    reconnect: () => undefined,
    close: () => undefined,
  }
  return client
}

function isRead(sql: string): boolean {
  return /^\s*(select|with)\b/i.test(sql) && !/\b(insert|update|delete)\b/i.test(sql.slice(0, 20))
}

function plain(statement: InStatement): SqlStatement {
  if (typeof statement === 'string') return { sql: statement, args: [] }
  const args = statement.args ?? []
  if (!Array.isArray(args)) throw new Error('named arguments are not used here')
  return { sql: statement.sql, args: args as InValue[] }
}

function resultSet(wire: WireResult): ResultSet {
  return {
    columns: wire.columns,
    columnTypes: wire.columnTypes,
    rows: namedRows(wire),
    rowsAffected: wire.rowsAffected,
    lastInsertRowid: wire.lastInsertRowid === undefined ? undefined : BigInt(wire.lastInsertRowid),
    toJSON: () => ({ columns: wire.columns, rows: wire.rows, rowsAffected: wire.rowsAffected }),
  }
}

/** Most writes give no row, and need no class for it. */
function namedRows({ columns, rows }: WireResult): Row[] {
  if (rows.length === 0) return []
  const list = columns.join('\n')
  const NamedRow = rowClasses.get(list) ?? rowOf(columns)
  rowClasses.set(list, NamedRow)
  return rows.map((values) => new NamedRow(values) as unknown as Row)
}

/** By their columns. The program has a few hundred lists of columns. */
const rowClasses = new Map<string, ReturnType<typeof rowOf>>()

/**
 * A class for libSQL rows with these columns: an array whose cells are also properties by column name (the last column wins), and
 * only the names are enumerable. The properties are defined once per class: defining them for each cell costs the request thread
 * more than the query.
 */
function rowOf(columns: readonly string[]): new (values: readonly Value[]) => object {
  class NamedRow {
    readonly #values: readonly Value[]

    constructor(values: readonly Value[]) {
      this.#values = values
      const named = this as Record<string, unknown>
      for (let i = 0; i < columns.length; i++) named[columns[i] as string] = values[i]
    }

    static valueAt(row: NamedRow, i: number): Value | undefined {
      return row.#values[i]
    }
  }
  Object.defineProperty(NamedRow.prototype, 'length', { value: columns.length })
  for (const i of columns.keys())
    Object.defineProperty(NamedRow.prototype, i, {
      get(this: NamedRow) {
        return NamedRow.valueAt(this, i)
      },
    })
  return NamedRow
}
