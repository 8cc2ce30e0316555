import { afterAll, beforeAll, expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ReserveFile } from '../../../server/adapters/stores/libsql/journal/reserve-file'

const MIB = 1024 * 1024
let folder = ''
let path = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gw-reserve-'))
  path = join(folder, 'gateway.db.reserve')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

test('takes its bytes on the disk, in bytes that no file system compresses, for this user alone', async () => {
  expect(new ReserveFile(path, 2 * MIB).take()).toBeNull()
  const { size, blocks, mode } = await stat(path)
  expect([size, blocks * 512, mode & 0o777]).toEqual([2 * MIB, 2 * MIB, 0o600])
  expect(Bun.gzipSync(await readFile(path)).length).toBeGreaterThan(0.9 * MIB)
  expect(await readdir(folder)).toEqual(['gateway.db.reserve'])
})

test('a file that is there is kept as it is, and one that was cut or only looks large is made anew', async () => {
  const { ino } = await stat(path)
  expect(new ReserveFile(path, 2 * MIB).take()).toBeNull()
  expect((await stat(path)).ino).toBe(ino)
  await rm(path)
  await writeFile(path, '')
  await truncate(path, 2 * MIB)
  expect((await stat(path)).blocks).toBe(0)
  expect(new ReserveFile(path, 2 * MIB).take()).toBeNull()
  expect((await stat(path)).blocks * 512).toBe(2 * MIB)
})

test('is given up once, says why, and is taken again', () => {
  const reserve = new ReserveFile(path, 2 * MIB)
  expect(reserve.giveUp('full')).toBe(true)
  expect([existsSync(path), reserve.problem, reserve.giveUp('again')]).toEqual([false, 'full', false])
  expect([reserve.take(), existsSync(path)]).toEqual([null, true])
})

test('is not taken from a disk that has less than twice its size, and says how much there is', () => {
  const reserve = new ReserveFile(join(folder, 'large.reserve'), 1e15)
  expect(reserve.take()).toMatch(/^no space left: .* has \d+ MiB, and \d+/)
  expect(existsSync(join(folder, 'large.reserve'))).toBe(false)
})

test('of 0 bytes there is none: an older one is removed, and nothing can be given up', () => {
  const none = new ReserveFile(path, 0)
  expect([none.take(), existsSync(path), none.giveUp('full'), none.problem]).toEqual([null, false, false, null])
})
