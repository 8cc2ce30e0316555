import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, lstat, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { secureFolder } from './secure-folder.ts'
import { SetupFailure } from './setup-failure.ts'
import { isSystemError } from './system-error.ts'

const SECRET_FILE = 'secret_key'
const DATABASE_FILE = 'gateway.db'
const SECRET_BYTES = 32

/**
 * Whether the secret must be a file in the data folder: the environment has none, and names no other file. A standby has its primary's, never one
 * of its own.
 */
export function needsSecretFile(
  { SECRET_KEY, SECRET_KEY_FILE }: NodeJS.ProcessEnv,
  flags: readonly string[] = [],
): boolean {
  return !SECRET_KEY && !SECRET_KEY_FILE && !flags.some((flag) => flag.startsWith('--standby='))
}

/**
 * Creates the data folder (0700, see `secureFolder`) and, with `makeSecret`, the secret file in it (0600), if they are missing. An
 * existing secret is never overwritten, and a database without its secret is refused, because sessions, sealed tokens and payment
 * challenges depend on it. If two processes start at once, one creates the secret, and neither ever reads an incomplete one.
 */
export async function prepareDataFolder(folder: string, makeSecret: boolean): Promise<void> {
  await secureFolder(folder, (line) => console.error(line))
  if (!makeSecret) return
  const file = join(folder, SECRET_FILE)
  const hasDatabase = existsSync(join(folder, DATABASE_FILE))
  if (await existingSecretIsSound(file)) return
  if (hasDatabase) {
    throw new SetupFailure(
      `${folder} has a database, but not its secret. Bring the old ${file}, or set SECRET_KEY. If it is lost, create another with: openssl rand -base64 32 > ${file} (everybody is signed out, and what the old one sealed cannot be read)`,
    )
  }

  const draft = `${file}.${randomBytes(6).toString('hex')}`
  await writeFile(draft, randomBytes(SECRET_BYTES).toString('base64url'), { mode: 0o600, flag: 'wx', flush: true })
  try {
    // Like O_EXCL, a link fails when the name is taken. Unlike with O_EXCL, the file appears with its content.
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
  if (!found.isFile())
    throw new SetupFailure(`${file} is not a regular file. Replace it with a file that contains the secret.`)
  if ((await readFile(file, 'utf8')).trim().length < SECRET_BYTES) {
    throw new SetupFailure(
      `${file} is shorter than ${SECRET_BYTES} characters. Restore the old secret, or remove the file to create a new one.`,
    )
  }
  return true
}
