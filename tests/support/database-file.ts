import { createClient, type InValue, type Row } from '@libsql/client'

/** Runs a statement on a database file, past whoever has it open. */
export async function executeOn(file: string, sql: string, args: InValue[] = []): Promise<readonly Row[]> {
  const client = createClient({ url: `file:${file}`, concurrency: 1 })
  try {
    return (await client.execute({ sql, args })).rows
  } finally {
    client.close()
  }
}

/** The ids of the calls that a database file charged. */
export async function chargedIds(file: string): Promise<ReadonlySet<string>> {
  return new Set((await executeOn(file, 'SELECT id FROM requests WHERE cost > 0')).map((row) => String(row['id'])))
}
