import { closeSync, openSync, writeSync } from 'node:fs'
import type { LogFormat, LogLevel } from './config'
import { isoTime, MINUTE_MS } from './core/clock'
import { printable } from './core/plain-text'

const ORDER: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** Within this time, a repeated warning or error is counted instead of written again. */
const REPEAT_MS = MINUTE_MS
/** The maximum number of different lines to count. Beyond it, lines are written as they come. */
const MAX_COUNTED = 1_000

export type Log = Readonly<Record<LogLevel, (message: string, fields?: Readonly<Record<string, unknown>>) => void>>

/** `flush` writes the counts of repeated lines. Call it before the process ends. */
export type ProcessLog = Log & { flush(): void }

type Fields = Readonly<Record<string, unknown>>
type WriteLine = (level: LogLevel, message: string, fields: Fields) => void

/**
 * Writes one line per event to stderr: time, level, message and fields, without control characters or line breaks. Callers must not log
 * secrets. The same warning or error within a minute is counted and written once more at the end of the minute.
 */
export function openLog(
  minLevel: LogLevel,
  write: (line: string) => unknown = (line) => process.stderr.write(line),
  now: () => number = () => Date.now(),
  format: LogFormat = 'text',
): ProcessLog {
  const lineOf = format === 'json' ? jsonLine : textLine
  const line: WriteLine = (level, message, fields) => write(`${lineOf(isoTime(now()), level, message, fields)}\n`)
  const repeats = new Repeats(now, line)
  const at =
    (level: LogLevel) =>
    (message: string, fields: Fields = {}) => {
      if (ORDER.indexOf(level) < ORDER.indexOf(minLevel)) return
      if ((level === 'warn' || level === 'error') && repeats.isRepeat(level, message, fields)) return
      line(level, message, fields)
    }
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    flush: () => repeats.flush(Number.POSITIVE_INFINITY),
  }
}

function textLine(time: string, level: LogLevel, message: string, { repeated, ...fields }: Fields): string {
  const again = typeof repeated === 'number' ? ` repeated ${repeated} ${repeated === 1 ? 'time' : 'times'}` : ''
  return `${time} ${level} ${printableLine(message, fields)}${again}`
}

function printableLine(message: string, fields: Fields): string {
  const details = Object.keys(fields).length > 0 ? ` ${JSON.stringify(fields)}` : ''
  return printable(message + details).replaceAll(/[\n\t]+/g, ' ')
}

/** No field replaces the first three members. */
function jsonLine(time: string, level: LogLevel, message: string, fields: Fields): string {
  const first = { time, level, message }
  return printable(JSON.stringify({ ...first, ...fields, ...first }))
}

interface Counted {
  readonly level: LogLevel
  readonly message: string
  readonly fields: Fields
  readonly since: number
  repeats: number
}

/** Recently written lines, and how often each was repeated since. */
class Repeats {
  private readonly now: () => number
  private readonly write: WriteLine
  private readonly counted = new Map<string, Counted>()
  private timer: ReturnType<typeof setTimeout> | null = null

  constructor(now: () => number, write: WriteLine) {
    this.now = now
    this.write = write
  }

  isRepeat(level: LogLevel, message: string, fields: Fields): boolean {
    const now = this.now()
    this.flush(now)
    const key = `${level} ${printableLine(message, fields)}`
    const known = this.counted.get(key)
    if (known) {
      known.repeats++
      this.watch()
      return true
    }
    if (this.counted.size < MAX_COUNTED) this.counted.set(key, { level, message, fields, since: now, repeats: 0 })
    return false
  }

  /** Writes the counts of lines whose minute has ended. Lines are in the order of their first occurrence. */
  flush(now: number): void {
    for (const [key, { level, message, fields, since, repeats }] of this.counted) {
      // After the clock is set back, `since` is in the future, and the line would be suppressed until then.
      if (now >= since && now - since < REPEAT_MS) return
      this.counted.delete(key)
      if (repeats > 0) this.write(level, message, { ...fields, repeated: repeats })
    }
  }

  private watch(): void {
    if (this.timer) return
    this.timer = setTimeout(() => {
      this.timer = null
      this.flush(this.now())
      if (this.counted.size > 0) this.watch()
    }, REPEAT_MS)
    this.timer.unref()
  }
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'its folder does not exist',
  ENOTDIR: 'part of its path is a file',
  EISDIR: 'it is a folder',
  EACCES: 'this user may not write it',
  EROFS: 'it is on a read-only disk',
}

/** The problem with LOG_FILE and its cure, for the error of opening it. */
export function logFileProblem(path: string, error: unknown): string {
  const code = String(Object(error).code ?? error)
  return `LOG_FILE=${path} cannot be opened: ${REASONS[code] ?? code}. Name a file that the gateway may write, such as LOG_FILE=/var/log/gateway/gateway.log, or unset it for stderr`
}

/** Where the lines of the log go: a file, or stderr without one. A line that the file does not take goes to stderr. */
export class LogOutput {
  private readonly path: string | null
  private file: number | null = null
  /** Whether the file ends within a line that it did not take whole. */
  private isTorn = false

  /** Throws if the file cannot be opened. */
  constructor(path: string | null) {
    this.path = path
    // The reader may be gone; the gateway serves on without a reader of its log.
    process.stderr.on('error', () => undefined)
    process.stdout.on('error', () => undefined)
    this.reopen()
  }

  /** Whether lines go to a file. */
  get isFile(): boolean {
    return this.file !== null
  }

  readonly write = (line: string): void => {
    if (this.file === null || !this.append(this.file, line)) process.stderr.write(line)
  }

  /** Opens the file by its name again, after something moved it. If that throws, lines go to the old file. */
  reopen(): void {
    if (this.path === null) return
    const old = this.file
    this.file = openSync(this.path, 'a', 0o600)
    this.isTorn = false
    if (old !== null) closeSync(old)
  }

  /** Returns false if the file does not take the whole line. */
  private append(file: number, line: string): boolean {
    const bytes = Buffer.from(this.isTorn ? `\n${line}` : line)
    let done = 0
    try {
      while (done < bytes.length) done += writeSync(file, bytes, done)
      this.isTorn = false
      return true
    } catch {
      if (done > 0) this.isTorn = true
      return false
    }
  }
}
