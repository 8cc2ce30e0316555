import { createClient, type InValue, type Row } from '@libsql/client'

/** Runs a statement on a database (a file, or a URL), past whoever has it open. */
export async function executeOn(file: string, sql: string, args: InValue[] = []): Promise<readonly Row[]> {
  const url = /^(?:file|http):/.test(file) ? file : `file:${file}`
  const client = createClient({ url, concurrency: 1 })
  try {
    return (await client.execute({ sql, args })).rows
  } finally {
    client.close()
  }
}

/** The ids of the calls that a database charged. */
export async function chargedIds(file: string): Promise<ReadonlySet<string>> {
  return new Set((await executeOn(file, 'SELECT id FROM requests WHERE cost > 0')).map((row) => String(row['id'])))
}
