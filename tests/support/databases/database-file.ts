import { type Client, createClient, type InValue, type Row } from '@libsql/client'

/** How long a statement waits for the gateway's own writer, which may be at work at any time: charges reach the tables after their answers. */
const BUSY_TIMEOUT_MS = 10_000

/** Opens a database file, although another process has it open. */
export function openFile(file: string): Client {
  return createClient({ url: `file:${file.replace(/^file:/, '')}`, concurrency: 1, timeout: BUSY_TIMEOUT_MS })
}

/** Runs a statement on a database (a file, or a URL), although another process has it open. */
export async function executeOn(file: string, sql: string, args: InValue[] = []): Promise<readonly Row[]> {
  const client = file.startsWith('http:') ? createClient({ url: file, concurrency: 1 }) : openFile(file)
  try {
    return (await client.execute({ sql, args })).rows
  } finally {
    client.close()
  }
}

/**
 * Copies the one row of a table that matches, so many times: where a test needs a thousand of something and the way to it is not its subject. `changed`:
 * what stands in some columns of a copy, as SQL in which `i` counts from 1.
 */
export async function copyRow(
  file: string,
  { table, where, copies, changed }: { table: string; where: string; copies: number; changed: Record<string, string> },
): Promise<void> {
  const columns = (await executeOn(file, `SELECT name FROM pragma_table_info('${table}')`)).map(({ name }) => `${name}`)
  const values = columns.map((column) => changed[column] ?? `"${column}"`)
  await executeOn(
    file,
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
     INSERT INTO ${table} SELECT ${values.join()} FROM n, ${table} WHERE ${where}`,
    [copies],
  )
}

/** The ids of the calls that a database charged. */
export async function chargedIds(file: string): Promise<ReadonlySet<string>> {
  return new Set((await executeOn(file, 'SELECT id FROM requests WHERE cost > 0')).map((row) => String(row['id'])))
}
