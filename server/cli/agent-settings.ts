import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { Refused } from './control-client'

/** Under which name the gateway stands among an agent's MCP servers. */
const SERVER_NAME = 'gateway'

type Settings = Record<string, unknown>
/** The members of our own entry. */
export type Entry = Readonly<Record<string, unknown>>

/**
 * The text of a settings file with our entry in its place below `path`, and everything else as it was. Throws `Refused` for what cannot be
 * read, and so would be lost.
 */
export type WithEntry = (file: string, text: string, path: readonly string[], entry: Entry) => string

/** What is in the file now; empty when there is none. */
export async function settingsText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '')
}

/** Puts the text in the file's place in one step. What was there is kept beside it; gives where, or null when nothing was. */
export async function replaced(file: string, text: string): Promise<string | null> {
  await mkdir(dirname(file), { recursive: true })
  const before = await settingsText(file)
  const backup = before.trim() === '' || before === text ? null : `${file}.bak`
  if (backup) await copyFile(file, backup)
  await writeFile(`${file}.new`, text)
  await rename(`${file}.new`, file)
  return backup
}

export const withJsonEntry: WithEntry = (file, text, path, entry) => {
  const settings = text.trim() === '' ? {} : parsedJson(file, text)
  let at = settings
  for (const member of path) {
    const next = at[member] ?? {}
    if (!isRecord(next)) throw new Refused(`${file}: "${member}" is not an object`)
    at[member] = next
    at = next
  }
  at[SERVER_NAME] = entry
  return `${JSON.stringify(settings, null, 2)}\n`
}

function parsedJson(file: string, text: string): Settings {
  try {
    const value: unknown = JSON.parse(text)
    if (isRecord(value)) return value
  } catch {
    // Told below: JSON with comments is one that we would lose.
  }
  throw new Refused(`${file} is not plain JSON; run with --print and add the entry by hand`)
}

/** Edits the text, so that comments and order stay; what was read of it before and after must differ in our entry alone. */
export const withTomlEntry: WithEntry = (file, text, path, entry) => {
  const table = [...path, SERVER_NAME].join('.')
  const before = parsedToml(file, text)
  const kept = withoutTable(text, table).trimEnd()
  const lines = Object.entries(entry).map(([name, value]) => `${name} = ${JSON.stringify(value)}`)
  const after = `${kept === '' ? '' : `${kept}\n\n`}[${table}]\n${lines.join('\n')}\n`
  const read = parsedToml(file, after)
  const own = taken(read, path)
  taken(before, path)
  if (!isDeepStrictEqual(own, entry) || !isDeepStrictEqual(read, before))
    throw new Refused(`${file} cannot be changed safely; run with --print and add the entry by hand`)
  return after
}

function parsedToml(file: string, text: string): Settings {
  try {
    return structuredClone(Bun.TOML.parse(text)) as Settings
  } catch {
    throw new Refused(`${file} is not TOML that can be read; run with --print and add the entry by hand`)
  }
}

/** The text without the lines of a table and of the tables below it. */
function withoutTable(text: string, table: string): string {
  let isOurs = false
  const kept = text.split('\n').filter((line) => {
    const head = /^\s*\[\[?\s*([^\]]+?)\s*\]/.exec(line)?.[1]
    if (head !== undefined) isOurs = head === table || head.startsWith(`${table}.`)
    return !isOurs
  })
  return kept.join('\n')
}

/** Takes our entry out of what was read, and the tables above it where nothing else is in them. */
function taken(settings: Settings, path: readonly string[]): unknown {
  const above: Settings[] = [settings]
  for (const member of path) {
    const next = above.at(-1)?.[member]
    if (!isRecord(next)) return undefined
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

function isRecord(value: unknown): value is Settings {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
