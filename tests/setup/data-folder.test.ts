import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { chmod, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareDataFolder } from '../../server/setup/data-folder.ts'

let root: string
let folder: string
let secretFile: string
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'data-folder-'))
  folder = join(root, 'data')
  secretFile = join(folder, 'secret_key')
})
afterEach(() => rm(root, { recursive: true, force: true }))

const mode = async (path: string) => (await stat(path)).mode & 0o777

describe('the data folder', () => {
  test('is its owner’s alone, and so is its secret of 32 random bytes', async () => {
    await prepareDataFolder(folder, true)
    expect(await mode(folder)).toBe(0o700)
    expect(await mode(secretFile)).toBe(0o600)
    const secret = await readFile(secretFile, 'utf8')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  })

  test('keeps the secret it has', async () => {
    await prepareDataFolder(folder, true)
    const secret = await readFile(secretFile, 'utf8')
    await prepareDataFolder(folder, true)
    expect(await readFile(secretFile, 'utf8')).toBe(secret)
  })

  test('gets no secret when one comes from the environment', async () => {
    await prepareDataFolder(folder, false)
    expect(await readdir(folder)).toEqual([])
  })

  test('gets one secret from many starts at once, and no drafts of it stay behind', async () => {
    await Promise.all(Array.from({ length: 20 }, () => prepareDataFolder(folder, true)))
    expect(await readdir(folder)).toEqual(['secret_key'])
    expect(await readFile(secretFile, 'utf8')).toHaveLength(43)
  })

  test('closes a secret that others could read, without changing it', async () => {
    await prepareDataFolder(folder, true)
    const secret = await readFile(secretFile, 'utf8')
    await chmod(secretFile, 0o644)
    await prepareDataFolder(folder, true)
    expect(await mode(secretFile)).toBe(0o600)
    expect(await readFile(secretFile, 'utf8')).toBe(secret)
  })

  test('refuses a secret cut short rather than replace it, and does not say it', async () => {
    await prepareDataFolder(folder, true)
    await writeFile(secretFile, 'half-a-secret')
    const failure = await prepareDataFolder(folder, true).then(
      () => null,
      (error: Error) => error,
    )
    expect(failure?.message).toContain('is shorter than 32 characters')
    expect(failure?.message).not.toContain('half-a-secret')
    expect(await readFile(secretFile, 'utf8')).toBe('half-a-secret')
  })
})
