import { describe, expect, test } from 'bun:test'
import { readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { getTableName, is } from 'drizzle-orm'
import { SQLiteTable } from 'drizzle-orm/sqlite-core'
import { TABLE_HOMES, type TableHome } from '../../server/adapters/stores/libsql/schema/homes'
import { openFile } from '../support/databases/database-file'
import { writeMigratedDatabase } from '../support/databases/migrated-database'

const SERVER = join(import.meta.dir, '..', '..', 'server')
const STORES = join(SERVER, 'adapters', 'stores', 'libsql')
const SCHEMA = join(STORES, 'schema')

/** SQL words that a table's name follows, in the statements that are written as text. */
const NAMED_IN_SQL = /\b(?:FROM|JOIN|INTO|UPDATE|ON|TABLE|INDEX)\s+[`"]?([a-z_]+)/g

function homesOf(names: Iterable<string>): Set<TableHome> {
  const homes = [...names].flatMap((name) => TABLE_HOMES[name] ?? [])
  return new Set(homes.filter((home) => home !== 'each'))
}

/** The names of the tables that the schema exports, by the names of the exports. */
async function exportedTables(): Promise<Map<string, string>> {
  const tables = new Map<string, string>()
  for (const file of (await readdir(SCHEMA)).sort())
    for (const [name, value] of Object.entries(await import(join(SCHEMA, file))))
      if (is(value, SQLiteTable)) tables.set(name, getTableName(value))
  return tables
}

/** The tables that a source file can name in a statement: those it imports from the schema, and those in its SQL. */
function tablesOf(source: string, tables: ReadonlyMap<string, string>): Set<string> {
  const used = new Set<string>()
  for (const [, names = ''] of source.matchAll(/import \{([^}]*)\} from '[^']*\/schema\/[^']*'/g))
    for (const name of names.split(',')) {
      const table = tables.get(name.trim().split(' as ')[0] ?? '')
      if (table) used.add(table)
    }
  for (const [, name = ''] of source.matchAll(NAMED_IN_SQL)) if (name in TABLE_HOMES) used.add(name)
  return used
}

/** Stores also build statements from names: `inserted('entries', ...)`. */
function namesIn(source: string): string[] {
  return [...source.matchAll(/'([a-z_]+)'/g)].flatMap(([, name = '']) => (name in TABLE_HOMES ? name : []))
}

/** The files of the stores that a file imports, and those that they import, without the schema and without types. */
async function importedBy(path: string, found = new Set<string>()): Promise<ReadonlySet<string>> {
  if (found.has(path)) return found
  found.add(path)
  const source = await readFile(path, 'utf8')
  for (const [, from = ''] of source.matchAll(/^import (?!type )[^']*'(\.[^']*)'/gm)) {
    const target = `${join(dirname(path), from)}.ts`
    if (target.startsWith(STORES) && !target.startsWith(SCHEMA)) await importedBy(target, found)
  }
  return found
}

async function schemaOf<T>(sql: string): Promise<readonly T[]> {
  const file = join(tmpdir(), `homes-${crypto.randomUUID()}.db`)
  await writeMigratedDatabase(file)
  const client = openFile(file)
  try {
    return (await client.execute(sql)).rows as unknown as readonly T[]
  } finally {
    client.close()
    await rm(file, { force: true })
  }
}

describe('homes of tables', () => {
  test('every table of a migrated database has one, and no other name does', async () => {
    const rows = await schemaOf<{ name: string }>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' AND name NOT LIKE '\\_\\_%' ESCAPE '\\'",
    )
    expect(rows.map(({ name }) => name).sort(), 'name the home of a new table in schema/homes.ts').toEqual(
      Object.keys(TABLE_HOMES).sort(),
    )
  })

  test('no foreign key leads from one home to the other', async () => {
    const keys = await schemaOf<{ name: string; target: string }>(
      `SELECT m.name AS name, k."table" AS target FROM sqlite_master m, pragma_foreign_key_list(m.name) k WHERE m.type = 'table'`,
    )
    expect(keys.length).toBeGreaterThan(20)
    expect(keys.filter(({ name, target }) => TABLE_HOMES[name] !== TABLE_HOMES[target])).toEqual([])
  })

  test('no trigger uses tables of both homes', async () => {
    const triggers = await schemaOf<{ name: string; on: string; sql: string }>(
      `SELECT name, tbl_name AS "on", sql FROM sqlite_master WHERE type = 'trigger'`,
    )
    expect(triggers.length).toBeGreaterThan(20)
    const mixed = triggers.filter(({ on, sql }) => homesOf([on, ...tablesOf(sql, new Map())]).size > 1)
    expect(mixed.map(({ name }) => name)).toEqual([])
  })

  test('no file of the server uses tables of both homes', async () => {
    const tables = await exportedTables()
    expect(tables.size).toBe(Object.keys(TABLE_HOMES).length)
    expect(homesOf(tablesOf('SELECT 1 FROM accounts JOIN identity_user', tables)).size).toBe(2)
    const mixed: string[] = []
    for (const path of new Bun.Glob('**/*.ts').scanSync({ cwd: SERVER, absolute: true })) {
      if (path.startsWith(SCHEMA)) continue
      const source = await readFile(path, 'utf8')
      const named = path.startsWith(STORES) ? namesIn(source) : []
      if (homesOf([...named, ...tablesOf(source, tables)]).size > 1) mixed.push(relative(SERVER, path))
    }
    expect(mixed, 'such a statement cannot run once the databases are apart: ask each by itself (ADR 45)').toEqual([])
  })

  test.each([
    ['control-stores.ts', 'cell'],
    ['cell-stores.ts', 'control'],
  ] as const)('what %s opens uses no table of a %s database', async (file, foreign) => {
    const tables = await exportedTables()
    const files = await importedBy(join(STORES, file))
    expect(files.size).toBeGreaterThan(10)
    const strangers: string[] = []
    for (const path of files) {
      const source = await readFile(path, 'utf8')
      if (homesOf([...namesIn(source), ...tablesOf(source, tables)]).has(foreign))
        strangers.push(relative(STORES, path))
    }
    expect(strangers).toEqual([])
  })
})
