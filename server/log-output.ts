import { closeSync, openSync, writeSync } from 'node:fs'

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
