import { and, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import {
  type IdempotencyId,
  type IdempotencyRecord,
  type IdempotencyRecords,
  RETENTION_MS,
} from '../../../core/idempotency/idempotency-record'
import type { RequestId } from '../../../core/ids'
import { idempotencyRecords } from './schema/usage'

export class LibsqlIdempotencyRecords implements IdempotencyRecords {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  async find(id: IdempotencyId, now: number): Promise<IdempotencyRecord | null> {
    await this.applied()
    const [row] = await this.db
      .select()
      .from(idempotencyRecords)
      .where(and(at(id), gt(idempotencyRecords.at, now - RETENTION_MS)))
    return row ?? null
  }

  async reserve(answer: IdempotencyRecord): Promise<boolean> {
    const { fingerprint, state, requestId, headers, at: time } = answer
    const written = await this.db
      .insert(idempotencyRecords)
      .values(answer)
      .onConflictDoUpdate({
        target: [idempotencyRecords.account, idempotencyRecords.operation, idempotencyRecords.key],
        set: { fingerprint, state, requestId, headers, at: time, body: null },
        setWhere: sql`${idempotencyRecords.at} <= ${time - RETENTION_MS}`,
      })
    return written.rowsAffected === 1
  }

  async give(answer: IdempotencyRecord): Promise<boolean> {
    if (answer.state === 'given') return true
    await this.applied()
    const marked = await this.db
      .update(idempotencyRecords)
      .set({ state: 'given' })
      .where(
        and(
          at(answer),
          eq(idempotencyRecords.requestId, answer.requestId),
          inArray(idempotencyRecords.state, ['kept', 'given']),
        ),
      )
    return marked.rowsAffected === 1
  }

  async free(id: IdempotencyId, requestId: RequestId): Promise<void> {
    await this.db
      .delete(idempotencyRecords)
      .where(and(at(id), eq(idempotencyRecords.requestId, requestId), eq(idempotencyRecords.state, 'reserved')))
  }

  async prune(now: number): Promise<void> {
    await this.db.delete(idempotencyRecords).where(lte(idempotencyRecords.at, now - RETENTION_MS))
  }
}

function at({ account, operation, key }: IdempotencyId) {
  return and(
    eq(idempotencyRecords.account, account),
    eq(idempotencyRecords.operation, operation),
    eq(idempotencyRecords.key, key),
  )
}
