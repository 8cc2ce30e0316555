import { afterAll, beforeAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DataFolderInUse, lockDataFolder } from '../../../server/adapters/stores/libsql/driver/file/held-file'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'gateway-lock-'))
})
const children: Bun.Subprocess[] = []
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true, force: true })
})

async function holder() {
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'lock-holder.ts'), folder], {
    stdout: 'pipe',
    stderr: 'ignore',
  })
  children.push(child)
  const { value } = await child.stdout.getReader().read()
  expect(new TextDecoder().decode(value)).toBe('held\n')
  return child
}

test('a folder that another process holds is refused in one line, and is free once that process was killed', async () => {
  const child = await holder()
  const refused = await lockDataFolder(folder).catch((error: unknown) => error)
  expect(refused).toBeInstanceOf(DataFolderInUse)
  expect(String((refused as Error).message)).toBe(
    `${folder} is in use by another gateway; stop it first, or set DATA_DIR to another folder`,
  )
  child.kill('SIGKILL')
  await child.exited
  const lock = await lockDataFolder(folder)
  lock.release()
})

test('a folder can be held only once in one process too, and is free when released', async () => {
  const lock = await lockDataFolder(folder)
  await expect(lockDataFolder(folder)).rejects.toBeInstanceOf(DataFolderInUse)
  lock.release()
  const again = await lockDataFolder(folder)
  again.release()
})

test('a folder that does not exist is reported as missing', async () => {
  const refused = await lockDataFolder(join(folder, 'missing')).catch((error: unknown) => error)
  expect(refused).not.toBeInstanceOf(DataFolderInUse)
  expect(refused).toBeInstanceOf(Error)
})
