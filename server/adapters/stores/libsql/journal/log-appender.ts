import { reasonOf } from '../../../../core/result'

/** The file operations that the appender needs. Each may throw the operating system's error. */
export interface LogStorage {
  /** Returns the number of bytes written. */
  write(bytes: Uint8Array, position: number): number
  /** Flushes to disk, so that written data survives a power loss. */
  sync(): void
  truncate(length: number): void
  /** The damage that another process did to the file, which should have `length` bytes; null while all is well. */
  damage(length: number): string | null
}

/** The system's errors when a disk, a quota or the inodes are used up. */
const FULL = new Set(['ENOSPC', 'EDQUOT'])

/**
 * `refused`: it is certainly not in the log. `isDamage`: because another process changed the file; `isFull`: because the disk has no more
 * space. `lost`: this process cannot find out
 * whether it is in the log.
 */
export type AppendResult =
  | { readonly kind: 'written' }
  | { readonly kind: 'refused'; readonly reason: string; readonly isDamage?: true; readonly isFull?: true }
  | { readonly kind: 'lost'; readonly reason: string }

/**
 * Appends lines at a position that it tracks itself, so that a failed or short write leaves nothing behind: the file is truncated, and
 * if that fails too, the next line overwrites it. After a failed sync nothing more is appended: the kernel may have dropped or
 * written the pages, and a second sync would wrongly report success.
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
    const damage = this.storage.damage(this.goodLength)
    if (damage !== null) return { kind: 'refused', reason: damage, isDamage: true }
    try {
      for (let done = 0; done < line.length; ) {
        const written = this.storage.write(line.subarray(done), this.goodLength + done)
        if (written === 0) throw Object.assign(new Error('the log takes no more bytes'), { code: 'ENOSPC' })
        done += written
      }
    } catch (error) {
      this.cut()
      const refused = { kind: 'refused', reason: reasonOf(error) } as const
      return FULL.has(Object(error).code) ? { ...refused, isFull: true } : refused
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
      // The rest is a torn line, which readers ignore and the next line overwrites.
    }
  }
}
