import { afterEach, beforeEach, describe, expect, test } from 'bun:test'
import { writeFileSync } from 'node:fs'
import { chmod, chown, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareDataFolder } from '../../server/setup/data-folder.ts'
import { secureFolder } from '../../server/setup/secure-folder.ts'

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
  test('and its secret of 32 random bytes are accessible only to their owner', async () => {
    await prepareDataFolder(folder, true)
    expect(await mode(folder)).toBe(0o700)
    expect(await mode(secretFile)).toBe(0o600)
    const secret = await readFile(secretFile, 'utf8')
    expect(secret).toMatch(/^[\w-]{43}$/)
    expect(Buffer.from(secret, 'base64url')).toHaveLength(32)
  })

  test('keeps its existing secret', async () => {
    await prepareDataFolder(folder, true)
    const secret = await readFile(secretFile, 'utf8')
    await prepareDataFolder(folder, true)
    expect(await readFile(secretFile, 'utf8')).toBe(secret)
  })

  test('gets no secret if the environment provides one', async () => {
    await prepareDataFolder(folder, false)
    expect(await readdir(folder)).toEqual([])
  })

  test('gets one secret from many concurrent starts, and no drafts of it remain', async () => {
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

  test('refuses a truncated secret instead of replacing it, and does not print it', async () => {
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

describe('an existing data folder', () => {
  const refusal = () =>
    prepareDataFolder(folder, true).then(
      () => null,
      (error: Error) => error.message,
    )

  test('is closed to other users with everything in it, if they could only read it', async () => {
    await mkdir(folder, { mode: 0o755 })
    await chmod(folder, 0o755)
    await mkdir(join(folder, 'parts'), { mode: 0o755 })
    for (const name of ['gateway.db', 'gateway.db.log', 'parts/one'])
      await writeFile(join(folder, name), 'x', { mode: 0o644 })
    await prepareDataFolder(folder, false)
    const modes = await Promise.all(
      ['', 'gateway.db', 'gateway.db.log', 'parts', 'parts/one'].map((name) => mode(join(folder, name))),
    )
    expect(modes).toEqual([0o700, 0o600, 0o600, 0o700, 0o600])
  })

  test('with a database but no secret is refused, and gets none', async () => {
    await mkdir(folder, { mode: 0o700 })
    await writeFile(join(folder, 'gateway.db'), 'x')
    expect(await refusal()).toMatch(
      /has a database, but not its secret\. Bring the old .*secret_key, or set SECRET_KEY/,
    )
    expect(await readdir(folder)).toEqual(['gateway.db'])
  })

  test('is refused if others could write to it: a secret planted there would make them operator', async () => {
    await mkdir(folder)
    await chmod(folder, 0o777)
    await writeFile(secretFile, 'planted-by-a-stranger-who-knows-it-well', { mode: 0o600 })
    expect(await refusal()).toContain('can be written by other users')
    expect(await mode(folder)).toBe(0o777)
  })

  test('is accepted, and closed, if others could write to it and it is empty', async () => {
    await mkdir(folder)
    await chmod(folder, 0o777)
    await prepareDataFolder(folder, true)
    expect(await mode(folder)).toBe(0o700)
  })

  test('is refused if something was planted after the first look, before it was closed', async () => {
    await mkdir(folder)
    await chmod(folder, 0o777)
    const plant = () => writeFileSync(secretFile, 'planted-by-a-stranger-who-knows-it-well', { mode: 0o600 })
    await expect(secureFolder(folder, plant)).rejects.toThrow('can be written by other users')
    expect(await mode(folder)).toBe(0o777)
    expect(await refusal()).toContain('can be written by other users')
  })

  test('is refused if a file in it could be reached and written', async () => {
    await mkdir(folder)
    await chmod(folder, 0o755)
    await writeFile(secretFile, 'x'.repeat(43))
    await chmod(secretFile, 0o666)
    expect(await refusal()).toContain(`${secretFile} can be written by other users`)
  })

  test.skipIf(process.getuid?.() !== 0)('is refused when it, or a file in it, is of another user', async () => {
    // Only the superuser can give a file away: the folder is judged as another user would.
    await prepareDataFolder(folder, true)
    await chown(folder, 4711, 4711)
    expect(await refusal()).toContain('belongs to another user (uid 4711')
    await chown(folder, 0, 0)
    await chown(secretFile, 4711, 4711)
    expect(await refusal()).toContain(`${secretFile} belongs to another user`)
  })

  test('is refused if its secret is a link', async () => {
    await mkdir(folder, { mode: 0o700 })
    await writeFile(join(root, 'known'), 'x'.repeat(43))
    await symlink(join(root, 'known'), secretFile)
    expect(await refusal()).toContain('is not a regular file')
  })
})
