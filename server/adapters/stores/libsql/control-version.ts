import type { ControlChanges } from '../../../core/cluster/control-changes'
import type { SqlStatement, WireResult } from './driver/worker-wire'

/** Writes to what every gateway has a copy of. Roles change by an update; accounts that are opened concern nobody else. */
const COPIED =
  /^\s*(?:(?:insert(?:\s+or\s+\w+)?\s+into|update(?:\s+or\s+\w+)?|delete\s+from)\s+["`]?(?:models|prices|apis|api_operations|api_prices|api_tools|removed_apis|api_closings)\b|update\s+["`]?account_directory\b)/i
const RAISE = {
  sql: 'INSERT INTO control_version (id, version) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET version = version + 1',
  args: [],
}

interface Writes {
  batch(statements: readonly SqlStatement[]): Promise<readonly WireResult[]>
}

/**
 * Writes that raise the version in the same transaction when they change what gateways have copies of, and resolve once the copies of all
 * others are as new. A write of unknown outcome is announced, too.
 */
export function announcingWrites(writes: Writes, changes: ControlChanges): Writes {
  return {
    async batch(statements) {
      if (!statements.some(({ sql }) => COPIED.test(sql))) return writes.batch(statements)
      const written = writes.batch([...statements, RAISE])
      await written.then(
        () => changes.changed(),
        () => changes.doubted(),
      )
      return (await written).slice(0, statements.length)
    },
  }
}
