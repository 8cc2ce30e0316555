import { Database } from 'bun:sqlite'
import { afterEach, beforeEach, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { EpochMark } from '../../server/adapters/stores/libsql/driver/file/epoch-mark'
import { newFolder, openHarness } from '../support/harness'
import { dataFolder, removeFolder, startServer } from '../support/servers/server-process'

/** The warning of a start about data that its folder did not serve last. */
const WARNING = 'this data was restored from a copy; run "gateway operator after-restore"'
let root = ''
let folder = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'gw-put-back-'))
  folder = join(root, 'data')
  await rename(await newFolder(), folder)
})
afterEach(() => rm(root, { recursive: true, force: true }))

const file = () => join(folder, 'gateway.db')
const copy = () => join(root, 'copy.db')

/** Starts, does something, and stops. Returns whether the start warned. */
async function served(during: () => void | Promise<void> = () => undefined, from = folder): Promise<boolean> {
  const gateway = await openHarness({ folder: from })
  try {
    await gateway.account(1)
    await during()
    return gateway.logged.join('\n').includes(WARNING)
  } finally {
    await gateway.close(true)
  }
}

/** A consistent copy, as other tools make it while the gateway runs. */
function copyNow(): void {
  const database = new Database(file(), { readonly: true })
  database.run(`VACUUM INTO '${copy()}'`)
  database.close()
}

test('a folder that is started again, moved, or copied as a whole is not taken for a restore', async () => {
  expect(await served()).toBe(false)
  expect(await served()).toBe(false)
  const [moved, copied] = [join(root, 'moved'), join(root, 'copied')]
  await rename(folder, moved)
  expect(await served(undefined, moved)).toBe(false)
  await cp(moved, copied, { recursive: true })
  expect(await served(undefined, copied)).toBe(false)
  expect(existsSync(join(copied, 'restored.json'))).toBe(false)
})

test('a copy of the same run in the place of the stopped database is noticed, and the warning stays until somebody looked', async () => {
  expect(await served(copyNow)).toBe(false)
  const other = join(root, 'other')
  await rename(await newFolder(), other)
  await copyFile(`${file()}.epoch`, join(other, 'gateway.db.epoch'))
  await copyFile(copy(), join(other, 'gateway.db'))
  const noted = async () => JSON.parse(await readFile(join(other, 'restored.json'), 'utf8'))
  expect(await served(undefined, other)).toBe(true)
  const note = await noted()
  expect(note).toMatchObject({ copy: null, from: null })
  expect(Date.parse(note.taken_at)).toBeLessThanOrEqual(Date.parse(note.restored_at))
  expect(await served(undefined, other)).toBe(true)
  expect(await noted()).toEqual(note)
})

test('a copy of an hour ago that an operator writes over the database of a stopped process is noticed', async () => {
  const data = await dataFolder()
  try {
    const server = await startServer(data)
    const database = new Database(join(data, 'gateway.db'), { readonly: true })
    database.run(`VACUUM INTO '${copy()}'`)
    database.close()
    expect(await server.kill('SIGTERM')).toBe(0)
    await copyFile(copy(), join(data, 'gateway.db'))
    const again = await startServer(data)
    expect(again.output()).toContain(WARNING)
    expect(await again.kill('SIGTERM')).toBe(0)
  } finally {
    await removeFolder(data)
  }
})

test('a mark without an end, as a kill leaves it, knows an older copy by its epoch and another file by itself', async () => {
  await writeFile(file(), 'the data')
  const mark = new EpochMark(file())
  mark.write(7)
  expect([mark.originOf(6, true), mark.originOf(7, true), mark.originOf(8, true)]).toEqual(['other', 'same', 'same'])
  await writeFile(copy(), 'the data')
  await rename(copy(), file())
  expect(mark.originOf(7, true)).toBe('other')
  mark.write(8)
  expect(mark.originOf(8, true)).toBe('same')
  // A mark that was cut says nothing, like one that is missing.
  await writeFile(join(folder, 'gateway.db.epoch'), '{"epo')
  expect([mark.originOf(8, true), mark.originOf(8, false)]).toEqual(['new', 'same'])
})

test('a database and its log that are brought to an empty folder are noticed', async () => {
  await served(copyNow)
  const other = join(root, 'other')
  await rename(await newFolder(), other)
  await copyFile(copy(), join(other, 'gateway.db'))
  expect(await served(undefined, other)).toBe(true)
})

test('a mark that cannot be written, as on a full disk, does not prevent a start', async () => {
  await mkdir(`${file()}.epoch.draft`)
  expect(await served()).toBe(false)
  expect(existsSync(`${file()}.epoch`)).toBe(false)
})

test('the note of `operator restore` stays as it is', async () => {
  await served(copyNow)
  const other = join(root, 'other')
  await rename(await newFolder(), other)
  await copyFile(copy(), join(other, 'gateway.db'))
  const note = { copy: 'gateway-1', taken_at: '2026-11-20T00:00:00.000Z', restored_at: '2026-11-21T00:00:00.000Z' }
  await writeFile(join(other, 'restored.json'), JSON.stringify(note))
  expect(await served(undefined, other)).toBe(true)
  expect(JSON.parse(await readFile(join(other, 'restored.json'), 'utf8'))).toEqual(note)
})

test('the first start of a version that leaves marks takes the data of an older one as its own', async () => {
  await served()
  await rm(join(folder, 'gateway.db.epoch'))
  const database = new Database(file())
  database.run('UPDATE owner SET version = NULL')
  database.close()
  expect(await served()).toBe(false)
})
