import type { Copies } from '../../../core/copies'
import type { SqlStatement, WireResult } from './driver/worker-wire'

/** Writes to tables that are in memory as a whole. Roles change by an update; new accounts are not in memory. */
const COPIED =
  /^\s*(?:(?:insert(?:\s+or\s+\w+)?\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+["`]?(?:models|prices|apis|api_operations|api_prices|api_tools|removed_apis|api_closings)\b|update\s+["`]?account_directory\b)/i

interface Writes {
  batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]>
}

/** Has the copies read again when a write to them failed: it may have been committed nevertheless. */
export function doubtfulWrites(writes: Writes, copies: Pick<Copies, 'doubt'>): Writes {
  return {
    batch(statements) {
      const written = writes.batch(statements)
      if (statements.some(({ sql }) => COPIED.test(sql))) written.catch(() => copies.doubt())
      return written
    },
  }
}
