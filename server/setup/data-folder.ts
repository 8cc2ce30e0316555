import { randomBytes } from 'node:crypto'
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secureFolder } from './secure-folder.ts'
import { SetupFailure } from './setup-failure.ts'

const SECRET_FILE = 'secret_key'
const SECRET_BYTES = 32

/**
 * Makes the folder of the database (0700, see `secureFolder`) and, when `makeSecret`, its secret file (0600) where they are missing.
 * A secret that exists is never written again: every session and every payment challenge hangs on it. Of two starts
 * at once one makes the secret, and neither ever sees half of it.
 */
export async function prepareDataFolder(folder: string, makeSecret: boolean): Promise<void> {
  await secureFolder(folder, (line) => console.error(line))
  if (!makeSecret) return
  const file = join(folder, SECRET_FILE)
  if (await existingSecretIsSound(file)) return

  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, randomBytes(SECRET_BYTES).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
  try {
    // A link, like O_EXCL, fails when the name is taken; unlike it, the file appears with its content.
    await link(draft, file)
  } catch (failure) {
    if (!isSystemError(failure, 'EEXIST')) throw failure
    await existingSecretIsSound(file)
  } finally {
    await rm(draft, { force: true })
  }
}

async function existingSecretIsSound(file: string): Promise<boolean> {
  const found = await lstat(file).catch((failure: unknown) => {
    if (isSystemError(failure, 'ENOENT')) return null
    throw failure
  })
  if (found === null) return false
  if (!found.isFile()) throw new SetupFailure(`${file} is not a regular file; put the secret itself there.`)
  if ((await readFile(file, 'utf8')).trim().length < SECRET_BYTES) {
    throw new SetupFailure(`${file} is shorter than ${SECRET_BYTES} characters; put the old secret back, or remove it.`)
  }
  return true
}

function isSystemError(failure: unknown, code: string): boolean {
  return failure instanceof Error && 'code' in failure && failure.code === code
}
