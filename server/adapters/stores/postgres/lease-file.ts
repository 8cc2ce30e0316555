import { existsSync, readFileSync, rmSync, statSync } from 'node:fs'
import { isJson, parsedJson } from '../../../core/json'
import { replaceDurably } from '../../backup/files'

export interface KnownLease {
  /** Whose log it is: made once, for the data and the copy of its log. */
  readonly installation: string
  /** Who held the lease last from this folder; null before the first time. */
  readonly holder: string | null
  /** Who is about to take it. */
  readonly next?: string
}

export function leaseText(lease: KnownLease & { readonly inode?: number }): string {
  return `${JSON.stringify(lease)}\n`
}

/** A small file next to a database file (`.lease`) that says which log at LOG_URL continues it. */
export class LeaseFile {
  private readonly path: string

  constructor(database: string) {
    this.path = `${database}.lease`
  }

  read(): KnownLease | null {
    const found = existsSync(this.path) ? parsedJson(readFileSync(this.path, 'utf8')) : null
    return isJson(found) && typeof found['installation'] === 'string' ? (found as unknown as KnownLease) : null
  }

  /** Whether it was written in this folder. A copy of a folder may be made while its gateway runs. */
  get isOriginal(): boolean {
    const found = parsedJson(readFileSync(this.path, 'utf8'))
    return isJson(found) && found['inode'] === statSync(this.path).ino
  }

  /** Durable when it returns. */
  write(lease: KnownLease): void {
    replaceDurably(this.path, ({ ino }) => leaseText({ ...lease, inode: ino }))
  }

  remove(): void {
    rmSync(this.path, { force: true })
  }
}
