import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/libsql'
import {
  isControlOpened,
  refuseOtherCell,
  registerCell,
} from '../../../server/adapters/stores/libsql/cluster/cell-database'
import { openFile } from '../../support/databases/database-file'
import { writeMigratedDatabase } from '../../support/databases/migrated-database'

const ALL = ['main', 'c2', 'c3']

describe('the databases of cells', () => {
  let folder = ''
  const open: (() => void)[] = []
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cell-database-'))
  })
  afterEach(async () => {
    for (const close of open.splice(0)) close()
    await rm(folder, { recursive: true, force: true })
  })

  const database = async (name: string) => {
    const file = join(folder, `${name}.db`)
    await writeMigratedDatabase(file)
    const client = openFile(file)
    open.push(() => client.close())
    const rows = async (sql: string) => (await client.execute(sql)).rows.map((row) => Array.from(row))
    return { client, rows, db: drizzle({ client }) }
  }

  test('get an id at the first opening, and are themselves at every later one', async () => {
    const [main, c2] = [await database('main'), await database('c2')]
    expect(await isControlOpened(main.db)).toBe(false)
    for (const now of [1, 2]) {
      await refuseOtherCell(main.rows, { name: 'main', all: ALL })
      await registerCell(main.db, main.db, 'main', now)
      await refuseOtherCell(c2.rows, { name: 'c2', all: ALL })
      await registerCell(c2.db, main.db, 'c2', now)
    }
    expect(await isControlOpened(main.db)).toBe(true)
    expect(await main.rows('SELECT name, opened_at FROM cells ORDER BY name')).toEqual([
      ['c2', 1],
      ['main', 1],
    ])
  })

  test('are refused in the place of another: a cell, the control database, another gateway, a new database', async () => {
    const [main, c2, new2, stranger] = [
      await database('main'),
      await database('c2'),
      await database('new'),
      await database('stranger'),
    ]
    await registerCell(main.db, main.db, 'main', 1)
    await registerCell(c2.db, main.db, 'c2', 1)
    await expect(refuseOtherCell(c2.rows, { name: 'c3', all: ALL })).rejects.toThrow('belongs to c2')
    await expect(refuseOtherCell(main.rows, { name: 'c2', all: ALL })).rejects.toThrow('belongs to main')
    await expect(refuseOtherCell(c2.rows, { name: 'main', all: ALL })).rejects.toThrow('is the database of the cell c2')
    await expect(registerCell(new2.db, main.db, 'c2', 1)).rejects.toThrow('a different database for c2 than before')
    await stranger.client.execute(
      "INSERT INTO account_directory (account_id, user_id, created_at, cell) VALUES ('acct_1', 'user', 1, 'main')",
    )
    await expect(refuseOtherCell(stranger.rows, { name: 'c3', all: ALL })).rejects.toThrow('another gateway')
  })

  test('cannot be left out once accounts may be in them', async () => {
    const [main, c2] = [await database('main'), await database('c2')]
    await registerCell(main.db, main.db, 'main', 1)
    await registerCell(c2.db, main.db, 'c2', 1)
    await expect(refuseOtherCell(main.rows, { name: 'main', all: ['main'] })).rejects.toThrow('Accounts are in c2')
  })
})
