/** What the appender needs of a file. Each may throw what the operating system says. */
export interface LogStorage {
  /** Gives how many bytes were written. */
  write(bytes: Uint8Array, position: number): number
  /** Has what was written on the disk, so that it survives a power loss. */
  sync(): void
  truncate(length: number): void
}

/** `refused`: nothing of it is in the log. `lost`: nobody in this process can know whether it is. */
export type AppendResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'lost'; readonly reason: string }

/**
 * Appends lines at a position of its own keeping, so that a write which failed or fell short leaves nothing behind: it is cut
 * off, and if that fails too, the next line goes over it. A sync that failed is another matter: the kernel may have dropped
 * the pages or written them, and a second sync would lie. Nothing is appended after it.
 */
export class LogAppender {
  private readonly storage: LogStorage
  private goodLength = 0
  private broken: string | null = null

  constructor(storage: LogStorage) {
    this.storage = storage
  }

  append(line: Uint8Array): AppendResult {
    if (this.broken !== null) return { kind: 'refused', reason: this.broken }
    try {
      for (let done = 0; done < line.length; ) {
        const written = this.storage.write(line.subarray(done), this.goodLength + done)
        if (written === 0) throw new Error('the log takes no more bytes')
        done += written
      }
    } catch (error) {
      this.cut()
      return { kind: 'refused', reason: reasonOf(error) }
    }
    try {
      this.storage.sync()
    } catch (error) {
      this.broken = `the log cannot be synced to the disk: ${reasonOf(error)}`
      return { kind: 'lost', reason: this.broken }
    }
    this.goodLength += line.length
    return { kind: 'written' }
  }

  /** Empties the log, durably. */
  empty(): void {
    this.storage.truncate(0)
    this.goodLength = 0
    this.storage.sync()
  }

  private cut(): void {
    try {
      this.storage.truncate(this.goodLength)
    } catch {
      // What is left is torn, so a reader drops it; the next line goes over it.
    }
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
