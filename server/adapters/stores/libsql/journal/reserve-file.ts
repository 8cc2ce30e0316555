import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statfsSync, statSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { reasonOf } from '../../../../core/result'

const MIB = 1024 * 1024
/** Bytes of one unit of `stat.blocks`. */
const BLOCK = 512

/** A file that takes space on a disk until that is needed. It holds random bytes: a file system could store zeros in no space at all. */
export class ReserveFile {
  /** Why the file is not there; null while it is, and with 0 bytes. */
  problem: string | null = null
  private readonly path: string
  private readonly bytes: number

  constructor(path: string, bytes: number) {
    this.path = path
    this.bytes = bytes
  }

  /**
   * Makes the file if it is not there in full and the disk has room for it and as much again, so that calls are served with some space and
   * not with a last block. Returns `problem`.
   */
  take(): string | null {
    try {
      this.problem = this.bytes === 0 || this.isThere() ? null : this.made()
      if (this.bytes === 0 && this.path !== '') rmSync(this.path, { force: true })
    } catch (error) {
      this.problem = reasonOf(error)
    }
    return this.problem
  }

  /** Removes the file because of `reason`. False if there was none. */
  giveUp(reason: string): boolean {
    if (this.bytes === 0 || this.problem !== null) return false
    this.problem = reason
    try {
      rmSync(this.path)
      return true
    } catch {
      return false
    }
  }

  private isThere(): boolean {
    const found = statSync(this.path, { throwIfNoEntry: false })
    return found?.size === this.bytes && found.blocks * BLOCK >= this.bytes
  }

  private made(): string | null {
    const folder = dirname(this.path)
    rmSync(this.path, { force: true })
    const { bavail, bsize } = statfsSync(folder)
    if (bavail * bsize < 2 * this.bytes)
      return `no space left: ${folder} has ${Math.floor((bavail * bsize) / MIB)} MiB, and ${(2 * this.bytes) / MIB} are needed`
    const draft = `${this.path}.draft`
    try {
      const fd = openSync(draft, 'w', 0o600)
      try {
        const part = randomBytes(Math.min(MIB, this.bytes))
        for (let at = 0; at < this.bytes; ) at += writeSync(fd, part, 0, Math.min(part.length, this.bytes - at), at)
        fsyncSync(fd)
      } finally {
        closeSync(fd)
      }
      renameSync(draft, this.path)
      return null
    } catch (error) {
      rmSync(draft, { force: true })
      throw error
    }
  }
}
