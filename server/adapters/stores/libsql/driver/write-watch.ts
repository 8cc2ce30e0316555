import type { SqlStatement } from './worker-wire'

/**
 * The tables that decide whether an access token is valid. Sign-ins and device polls, which strangers can cause, write to others, so
 * they do not empty the cache.
 */
export const TOKEN_TABLES = /\b(?:oauth_(?:access_token|refresh_token|client)|identity_user)\b/

/** Counts the writes to some tables, so that rows read from them can be cached until the count changes. */
export class WriteWatch {
  private readonly tables: RegExp
  private changes = 0

  constructor(tables: RegExp) {
    this.tables = tables
  }

  /** As long as this is the same as before a read, no acknowledged write is newer than that read. */
  get count(): number {
    return this.changes
  }

  /** Counts a write when it begins and again when it ends, even if it fails: a read in between may see either state. */
  async during<T>(statements: readonly Pick<SqlStatement, 'sql'>[], write: () => Promise<T>): Promise<T> {
    if (!statements.some(({ sql }) => this.tables.test(sql))) return write()
    this.changes++
    try {
      return await write()
    } finally {
      this.changes++
    }
  }
}
