import type { AuditEntry } from '../audit'
import { DAY_MS, isoDay } from '../clock'
import { isJson, parsedJson } from '../json'

/** A calendar month in UTC, by its days since 1970-01-01. */
export interface ArchiveMonth {
  /** `2025-09` */
  readonly text: string
  readonly firstDay: number
  readonly lastDay: number
}

/** How long after its end a month can be archived: refunds and disputes of its calls are over, and the year has its books. */
const MONTHS_KEPT = 13
const FORMAT = 1
const MONTH = /^\d{4}-(0[1-9]|1[0-2])$/
const SHA256 = /^[0-9a-f]{64}$/
/** The files of an archive, in the order in which they are written. */
export const ARCHIVE_FILES = ['entries.csv.zst', 'calls.csv.zst', 'closings.csv.zst'] as const
export const ARCHIVE_MANIFEST = 'manifest.json'

export type ArchiveFileName = (typeof ARCHIVE_FILES)[number]

/** An archive that cannot be written, read or removed by: a message for the operator. */
export class ArchiveProblem extends Error {}

/** Null if it is no month, such as `2025-13`. */
export function archiveMonth(text: string): ArchiveMonth | null {
  if (!MONTH.test(text)) return null
  const [year = 0, month = 0] = text.split('-').map(Number)
  return { text, firstDay: Date.UTC(year, month - 1) / DAY_MS, lastDay: Date.UTC(year, month) / DAY_MS - 1 }
}

export function monthOfDay(day: number): string {
  return isoDay(day * DAY_MS).slice(0, 7)
}

/** Whether it ended 13 months ago. */
export function isArchivable({ lastDay }: ArchiveMonth, now: number): boolean {
  const end = new Date((lastDay + 1) * DAY_MS)
  return Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + MONTHS_KEPT) <= now
}

export function archiveName({ text }: ArchiveMonth): string {
  return `gateway-archive-${text}`
}

export interface ArchiveFile {
  readonly name: ArchiveFileName
  /** Without the line with the names of the columns. */
  readonly rows: number
  readonly bytes: number
  /** In hex, of the compressed file. */
  readonly sha256: string
}

/** Describes an archive. Written last: without it an archive is not complete. */
export interface ArchiveManifest {
  readonly name: string
  readonly month: string
  /** The version of the gateway that made it. */
  readonly version: string
  readonly madeAt: string
  readonly files: readonly ArchiveFile[]
  /** The charges among the entries, and their sum in micro-USD. */
  readonly charges: number
  readonly charged: number
}

export function archiveManifestText(manifest: ArchiveManifest): string {
  return `${JSON.stringify({ format: FORMAT, ...manifest }, null, 2)}\n`
}

/** Null if it is damaged, or of a newer format. */
export function parseArchiveManifest(text: string): ArchiveManifest | null {
  const found = parsedJson(text)
  if (!isJson(found) || found['format'] !== FORMAT || !Array.isArray(found['files'])) return null
  const { files, format: _format, ...rest } = found
  const isWhole =
    ['name', 'month', 'version', 'madeAt'].every((name) => typeof rest[name] === 'string') &&
    ['charges', 'charged'].every((name) => Number.isSafeInteger(rest[name])) &&
    ARCHIVE_FILES.every((name) => files.some((file) => isJson(file) && file['name'] === name && isFile(file)))
  return isWhole ? (found as unknown as ArchiveManifest) : null
}

function isFile({ rows, bytes, sha256 }: Readonly<Record<string, unknown>>): boolean {
  return Number.isSafeInteger(rows) && Number.isSafeInteger(bytes) && SHA256.test(String(sha256))
}

/** A month whose calls and charges leave, and the archive that has them. */
export interface RemovedMonth {
  readonly month: ArchiveMonth
  /** Of the archive. */
  readonly name: string
  readonly location: string
  /** The SHA-256 of its manifest, in hex. */
  readonly manifest: string
  readonly charges: number
  /** micro-USD */
  readonly charged: number
}

export interface RemovalStep {
  readonly calls: number
  readonly charges: number
  /** Nothing of the month is left to remove. */
  readonly done: boolean
}

/** Takes the calls and charges of archived months out of the tables. All other entries stay, and so do calls of which something was refunded. */
export interface Archive {
  /**
   * Lets a month go. Idempotent. Throws `ArchiveProblem` unless its days are closed, all earlier months with charges are archived, the archive has as many charges
   * of the same sum as were closed, and it is the archive that began to replace the month.
   */
  begin(removed: RemovedMonth, at: number, audit: AuditEntry): Promise<void>
  /** Removes some rows, in one commit of some 30 ms: a database trigger adds each charge to the sums that stay. Repeat it until it is done. */
  remove(month: ArchiveMonth): Promise<RemovalStep>
  /** The oldest first. */
  months(): Promise<readonly RemovedMonth[]>
}
