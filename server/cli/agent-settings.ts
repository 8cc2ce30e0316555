import { randomBytes } from 'node:crypto'
import { constants } from 'node:fs'
import { lstat, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isJson } from '../core/json'
import { CommandRefused } from './control-client'

/** The gateway's name among an agent's MCP servers. */
const SERVER_NAME = 'gateway'

type Settings = Record<string, unknown>
/** The gateway's entry among an agent's MCP servers. */
export type Entry = Readonly<Record<string, unknown>>

/**
 * Returns the text of a settings file with our entry at `path` and everything else unchanged. Throws `Refused` if the file cannot be
 * parsed, because its content would be lost.
 */
export type WithEntry = (file: string, text: string, path: readonly string[], entry: Entry) => string

/** Larger files are not settings. */
const MAX_BYTES = 4 * 1024 * 1024
const { O_CREAT, O_EXCL, O_NOFOLLOW = 0, O_NONBLOCK = 0, O_RDONLY, O_WRONLY } = constants

/** Reads a settings file; empty if it does not exist. Throws `Refused` for anything but a regular file, including symbolic links. */
export async function settingsText(file: string): Promise<string> {
  const handle = await open(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((problem: unknown) => {
    if (codeOf(problem) === 'ENOENT' || codeOf(problem) === 'ENOTDIR') return null
    throw new CommandRefused(`${file} ${whyUnreadable(problem)}; run with --print and add the entry by hand`)
  })
  if (!handle) return ''
  try {
    const found = await handle.stat()
    if (!found.isFile() || found.size > MAX_BYTES)
      throw new CommandRefused(`${file} is not a settings file; run with --print and add the entry by hand`)
    return await handle.readFile('utf8')
  } finally {
    await handle.close()
  }
}

function whyUnreadable(problem: unknown): string {
  return codeOf(problem) === 'ELOOP'
    ? 'is a symbolic link, and symbolic links are not followed'
    : `cannot be read (${codeOf(problem)})`
}

function codeOf(problem: unknown): unknown {
  return Reflect.get(Object(problem), 'code')
}

/**
 * Replaces a file atomically. Returns the path of the backup of its old content, or null when there was none. An untrusted repository
 * may contain links under any of these names, so none is followed. Throws `Refused` when the file cannot be replaced.
 */
export async function replaceFile(file: string, text: string): Promise<string | null> {
  const before = await settingsText(file)
  const backup = before.trim() === '' || before === text ? null : `${file}.bak`
  const mode = await modeOf(file)
  if (backup) await swapIn(backup, before, mode)
  await swapIn(file, text, mode)
  return backup
}

/** The permissions of the file. Settings contain keys, so the backup gets the same permissions. */
async function modeOf(file: string): Promise<number> {
  const found = await lstat(file).catch(() => null)
  return found?.isFile() ? found.mode & 0o777 : 0o644
}

/** Writes a draft under a random name and renames it, so that a link at the destination is replaced instead of followed. */
async function swapIn(file: string, text: string, mode: number): Promise<void> {
  const draft = `${file}.${randomBytes(8).toString('hex')}.new`
  const handle = await open(draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    await handle.writeFile(text)
    await handle.sync()
  } finally {
    await handle.close()
  }
  await rename(draft, file).catch(async (problem: unknown) => {
    await rm(draft, { force: true })
    throw new CommandRefused(`${file} cannot be written (${codeOf(problem)})`)
  })
}

/** Creates the folder of a file. Throws `Refused` when part of the path below `root` is a link, which could lead out of it. */
export async function makeFolder(root: string | null, file: string): Promise<void> {
  const folder = dirname(resolve(file))
  if (root === null) return void (await mkdir(folder, { recursive: true }))
  let at = resolve(root)
  for (const step of relative(at, folder).split(sep).filter(Boolean)) {
    at = join(at, step)
    await mkdir(at).catch((problem: unknown) => {
      if (codeOf(problem) !== 'EEXIST') throw new CommandRefused(`${at} cannot be created (${codeOf(problem)})`)
    })
    if (!(await lstat(at)).isDirectory())
      throw new CommandRefused(`${at} is a link or not a folder; nothing was written`)
  }
}

export const withJsonEntry: WithEntry = (file, text, path, entry) => {
  const settings = text.trim() === '' ? {} : parsedJson(file, text)
  let at = settings
  for (const member of path) {
    const next = at[member] ?? {}
    if (!isJson(next)) throw new CommandRefused(`${file}: "${member}" is not an object`)
    at[member] = next
    at = next
  }
  at[SERVER_NAME] = entry
  return `${JSON.stringify(settings, null, 2)}\n`
}

function parsedJson(file: string, text: string): Settings {
  try {
    const value: unknown = JSON.parse(text)
    if (isJson(value)) return value
  } catch {
    // Refused below: writing JSON with comments would lose them.
  }
  throw new CommandRefused(`${file} is not plain JSON; run with --print and add the entry by hand`)
}

/** Edits the text to keep comments and order. Verifies that the parsed result differs only in our entry. */
export const withTomlEntry: WithEntry = (file, text, path, entry) => {
  const table = [...path, SERVER_NAME].join('.')
  const before = parsedToml(file, text)
  const kept = withoutTable(text, table).trimEnd()
  const lines = Object.entries(entry).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  const after = `${kept === '' ? '' : `${kept}\n\n`}[${table}]\n${lines.join('\n')}\n`
  const read = parsedToml(file, after)
  const own = removeEntry(read, path)
  removeEntry(before, path)
  if (!isDeepStrictEqual(own, entry) || !isDeepStrictEqual(read, before))
    throw new CommandRefused(`${file} cannot be changed safely; run with --print and add the entry by hand`)
  return after
}

function parsedToml(file: string, text: string): Settings {
  try {
    return structuredClone(Bun.TOML.parse(text)) as Settings
  } catch {
    throw new CommandRefused(`${file} is not valid TOML; run with --print and add the entry by hand`)
  }
}

/** Removes the lines of a table and of its sub-tables. */
function withoutTable(text: string, table: string): string {
  let isOurs = false
  const kept = text.split('\n').filter((line) => {
    const head = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]
    if (head !== undefined) isOurs = head === table || head.startsWith(`${table}.`)
    return !isOurs
  })
  return kept.join('\n')
}

/** Removes our entry and any tables that are empty without it. Returns the entry. */
function removeEntry(settings: Settings, path: readonly string[]): unknown {
  const above: Settings[] = [settings]
  for (const member of path) {
    const next = above.at(-1)?.[member]
    if (!isJson(next)) return undefined
    above.push(next)
  }
  const last = above.at(-1) ?? {}
  const own = last[SERVER_NAME]
  delete last[SERVER_NAME]
  for (let i = path.length - 1; i >= 0; i--) {
    const member = path[i] ?? ''
    if (Object.keys(Object(above[i]?.[member])).length === 0) delete above[i]?.[member]
  }
  return own
}
