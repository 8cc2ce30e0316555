import type { Client, InArgs } from '@libsql/client'

/** The rows of a query. `T` is what its columns are by the index's own schema, which strict writing by one builder upholds. */
export async function selectRows<T>(client: Client, sql: string, args: InArgs): Promise<T[]> {
  const { rows } = await client.execute({ sql, args })
  return rows as unknown[] as T[] // the driver types every column as a value of any kind
}
