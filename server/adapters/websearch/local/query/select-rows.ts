import type { Client, InArgs } from '@libsql/client'

/** The rows of a query. `T` follows from the index schema, whose strict tables only one builder writes. */
export async function selectRows<T>(client: Client, sql: string, args: InArgs): Promise<T[]> {
  const { rows } = await client.execute({ sql, args })
  return rows as unknown[] as T[] // the driver does not type columns
}
