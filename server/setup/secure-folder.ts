import { access, chmod, constants, lstat, mkdir, readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { SetupFailure } from './setup-failure.ts'

const OTHERS = 0o077
const OTHERS_WRITE = 0o022
const OTHERS_ENTER = 0o011

/**
 * Makes a folder of secrets and databases private before anything in it is read. Files that others could only read are closed to them (0700,
 * 0600), and `tell` reports it. Files that others could write cannot be trusted and are refused: a folder or file of another user, a folder
 * with files in it that others could write, and a writable file that others could reach. Idempotent. On Windows, which has no such
 * permissions, it only creates the folder.
 */
export async function secureFolder(folder: string, tell: (line: string) => void): Promise<void> {
  try {
    await makePrivate(folder, tell)
    await access(folder, constants.W_OK)
  } catch (failure) {
    throw unusable(folder, failure) ?? failure
  }
}

/** The system's errors for a folder that cannot be used. */
const REASONS: Readonly<Record<string, string>> = {
  EROFS: 'it is on a read-only disk',
  EACCES: 'this user may not write there',
  EPERM: 'this user may not write there',
  ENOENT: 'it cannot be created there',
  ENOTDIR: 'part of its path is a file',
  EEXIST: 'it is not a folder',
  ENOSPC: 'the disk is full',
}

function unusable(folder: string, failure: unknown): SetupFailure | null {
  const code = failure instanceof Error && 'code' in failure ? String(failure.code) : ''
  const reason = REASONS[code]
  if (reason === undefined) return null
  return new SetupFailure(
    `The data folder ${folder} cannot be used: ${reason}. Set DATA_DIR to a folder that this user may write, such as DATA_DIR=/var/lib/gateway`,
  )
}

async function makePrivate(folder: string, tell: (line: string) => void): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const uid = process.getuid?.()
  if (uid === undefined) return
  const found = await stat(folder)
  if (!found.isDirectory()) throw new SetupFailure(`${folder} is not a folder. Set DATA_DIR to another path.`)
  requireOwner(folder, found.uid, uid)
  const isWritable = (found.mode & OTHERS_WRITE) !== 0
  if (isWritable && (await readdir(folder)).length > 0) throw untrusted(folder, found.mode)
  if (found.mode & OTHERS) {
    await chmod(folder, 0o700)
    tell(`${folder} was open to other users (mode ${octal(found.mode)}); it is now yours alone (0700).`)
  }
  // Read it again now that no other user can write, to see files that were planted just before.
  const names = await readdir(folder)
  if (isWritable && names.length > 0) {
    await chmod(folder, found.mode & 0o7777) // otherwise the next start would trust it
    throw untrusted(folder, found.mode)
  }
  const closed: string[] = []
  const look: Look = { uid, wasReachable: (found.mode & OTHERS_ENTER) !== 0, closed }
  for (const name of names) await secureEntry(join(folder, name), look)
  if (closed.length > 0) tell(`Closed to other users (0600): ${closed.join(', ')}`)
}

function untrusted(folder: string, mode: number): SetupFailure {
  return new SetupFailure(
    `${folder} can be written by other users (mode ${octal(mode)}), so the secrets and databases in it cannot be trusted.\n` +
      `If you are sure that nobody changed them, run: chmod 700 ${folder}\nOtherwise set DATA_DIR to a new folder.`,
  )
}

interface Look {
  readonly uid: number
  /** Whether other users could reach the files in the folder. */
  readonly wasReachable: boolean
  /** The paths that were closed to other users. */
  readonly closed: string[]
}

async function secureEntry(path: string, look: Look): Promise<void> {
  const { uid, wasReachable, closed } = look
  const found = await lstat(path).catch(() => null) // a running gateway may remove a draft or log at any time
  if (found === null) return
  requireOwner(path, found.uid, uid)
  if (found.isSymbolicLink()) return
  if (wasReachable && found.isFile() && found.mode & OTHERS_WRITE)
    throw new SetupFailure(
      `${path} can be written by other users (mode ${octal(found.mode)}), so it cannot be trusted.\n` +
        `If you are sure that nobody changed it, run: chmod 600 ${path}`,
    )
  if (found.mode & OTHERS && found.uid === uid) {
    await chmod(path, found.isDirectory() ? 0o700 : 0o600)
    closed.push(path)
  }
  if (found.isDirectory()) for (const name of await readdir(path)) await secureEntry(join(path, name), look)
}

/** Root may own files here, because it could change them anyway. */
function requireOwner(path: string, owner: number, uid: number): void {
  if (owner === uid || owner === 0) return
  throw new SetupFailure(
    `${path} belongs to another user (uid ${owner}; this is uid ${uid}), who could read and change it.\n` +
      `Run as that user, change its owner, or set DATA_DIR to a folder of your own.`,
  )
}

function octal(mode: number): string {
  return `0${(mode & 0o7777).toString(8)}`
}
