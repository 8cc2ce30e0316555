import { type Client, createClient } from '@libsql/client'

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

/** Of a place, of a move, or of SQLite itself: they differ between two databases with the same data. */
const LEFT_OUT = new Set(['leases', 'nodes', 'secrets', 'owner', 'data_move', 'sqlite_sequence'])

/**
 * Every row of every table with type and content of each value, as SQLite itself says them, so that nothing is lost on the way here.
 * `place`: a path, or the URL of a database server.
 */
export async function dumpOf(place: string): Promise<Record<string, readonly string[]>> {
  const client = createClient({ url: place.includes('://') ? place : `file:${place}` })
  try {
    const tables = await client.execute(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'libsql\\_%' ESCAPE '\\' ORDER BY name",
    )
    const dump: Record<string, readonly string[]> = {}
    for (const { name } of tables.rows)
      if (!LEFT_OUT.has(String(name))) dump[String(name)] = await rowsOf(client, String(name))
    return dump
  } finally {
    client.close()
  }
}

async function rowsOf(client: Client, table: string): Promise<readonly string[]> {
  const { rows: columns } = await client.execute({ sql: 'SELECT name FROM pragma_table_info(?)', args: [table] })
  const values = columns.map(({ name }) => quoted(String(name))).map((name) => `typeof(${name}) || ':' || hex(${name})`)
  const { rows } = await client.execute(`SELECT ${values.join(" || ' ' || ")} AS line FROM ${quoted(table)}`)
  return rows.map(({ line }) => String(line))
}
