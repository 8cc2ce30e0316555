import { isoTime } from '../clock'
import { elementsOf, isJson, type Json, parsedJson } from '../json'

/** A file of a copy. */
export interface CopiedFile {
  readonly name: string
  readonly bytes: number
  /** In hex. */
  readonly sha256: string
}

/** Describes a copy of the gateway's data. Written last: a copy without it is not complete. */
export interface CopyManifest {
  /** `gateway-20261123T044500Z-1a2b3c`. */
  readonly name: string
  readonly takenAt: number
  /** The version of the gateway that made it. */
  readonly version: string
  /** The time of the last migration of its schema. */
  readonly schema: number
  readonly files: readonly CopiedFile[]
  /** In how many places the books disagree, as those of the original did; 0 is good. */
  readonly problems: number
  /** The settings with secrets that the gateway had. The copy needs them and does not contain them. */
  readonly secrets: readonly string[]
  /** Shows whether a SECRET_KEY is that of the copy, without revealing it. */
  readonly secretMark: string
}

/** The name of the file with the manifest. */
export const MANIFEST = 'manifest.json'
/** Where the database is in a copy. */
export const DATABASE = 'gateway.db'

/** Charges that the tables of an older gateway lacked; only in a copy from before an upgrade. */
export const DATABASE_LOG = 'gateway.db.log'
/** Says which log in PostgreSQL continues the database. */
export const DATABASE_LEASE = 'gateway.db.lease'
/** The search index of an operator's own documents. */
const INDEX = 'search.db'
const FORMAT = 1
const NAME = /^gateway-(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z-[0-9a-f]{6}$/
const SHA256 = /^[0-9a-f]{64}$/

/** A name of a copy; names sort by time. */
export function copyName(now: number): string {
  const time = isoTime(now).replace(/[-:]|\.\d+/g, '')
  return `gateway-${time}-${crypto.randomUUID().slice(0, 6)}`
}

export function isCopyName(name: string): boolean {
  return NAME.test(name)
}

/** The time in a copy's name, in milliseconds. */
export function copyTime(name: string): number {
  const [, year, month, day, hour, minute, second] = NAME.exec(name) ?? []
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
}

export function manifestText(manifest: CopyManifest): string {
  const { takenAt, secretMark, ...rest } = manifest
  const stored = { format: FORMAT, ...rest, taken_at: isoTime(takenAt), secret_mark: secretMark }
  return `${JSON.stringify(stored, null, 2)}\n`
}

/** Reads a manifest. Null if it is damaged, or of a newer format. */
export function parseManifest(text: string): CopyManifest | null {
  const stored = parsedJson(text)
  if (!isJson(stored) || stored['format'] !== FORMAT) return null
  const { name, version, schema, problems, secret_mark: secretMark } = stored
  const takenAt = Date.parse(String(stored['taken_at']))
  const files = elementsOf(stored['files']).filter(isFile)
  const isWhole =
    typeof name === 'string' &&
    isCopyName(name) &&
    typeof version === 'string' &&
    typeof schema === 'number' &&
    typeof problems === 'number' &&
    typeof secretMark === 'string' &&
    Number.isFinite(takenAt) &&
    files.length === elementsOf(stored['files']).length &&
    files.some((file) => file.name === DATABASE)
  if (!isWhole) return null
  const secrets = elementsOf(stored['secrets']).filter((secret) => typeof secret === 'string')
  return { name, takenAt, version, schema, problems, files, secrets, secretMark }
}

/** Whether a copy may have a file of this name. No other is ever read, written or deleted: a manifest comes from a location of others. */
export function isCopiedFile(name: unknown): boolean {
  return name === DATABASE || name === DATABASE_LOG || name === INDEX
}

function isFile(value: unknown): value is CopiedFile & Json {
  if (!isJson(value)) return false
  const { name, bytes, sha256 } = value
  return isCopiedFile(name) && Number.isSafeInteger(bytes) && SHA256.test(String(sha256))
}

/** The bytes of all files of a copy. */
export function copySize({ files }: Pick<CopyManifest, 'files'>): number {
  return files.reduce((sum, { bytes }) => sum + bytes, 0)
}

/** The copies to delete so that the newest `keep` stay. Those of another gateway are never among them. */
export function surplusCopies(
  copies: readonly CopyManifest[],
  keep: number,
  secretMark: string,
): readonly CopyManifest[] {
  const own = copies.filter((copy) => copy.secretMark === secretMark)
  return own.sort((a, b) => b.takenAt - a.takenAt).slice(Math.max(keep, 1))
}
