import { and, eq, gt, inArray, lte, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import {
  type IdempotencyPlace,
  type IdempotencyRecord,
  type IdempotencyRecords,
  RETENTION_MS,
} from '../../../core/idempotency/idempotency-record'
import type { RequestId } from '../../../core/ids'
import { keptAnswers } from './schema/kept-answers'

export class LibsqlIdempotencyRecords implements IdempotencyRecords {
  private readonly db: LibSQLDatabase
  private readonly applied: () => Promise<void>

  /** `applied` resolves when the tables contain every acknowledged charge. */
  constructor(db: LibSQLDatabase, applied: () => Promise<void>) {
    this.db = db
    this.applied = applied
  }

  async find(place: IdempotencyPlace, now: number): Promise<IdempotencyRecord | null> {
    await this.applied()
    const [row] = await this.db
      .select()
      .from(keptAnswers)
      .where(and(at(place), gt(keptAnswers.at, now - RETENTION_MS)))
    return row ?? null
  }

  async reserve(answer: IdempotencyRecord): Promise<boolean> {
    const { fingerprint, state, requestId, headers, at: time } = answer
    const written = await this.db
      .insert(keptAnswers)
      .values(answer)
      .onConflictDoUpdate({
        target: [keptAnswers.account, keptAnswers.operation, keptAnswers.key],
        set: { fingerprint, state, requestId, headers, at: time, body: null },
        setWhere: sql`${keptAnswers.at} <= ${time - RETENTION_MS}`,
      })
    return written.rowsAffected === 1
  }

  async give(answer: IdempotencyRecord): Promise<boolean> {
    if (answer.state === 'given') return true
    await this.applied()
    const marked = await this.db
      .update(keptAnswers)
      .set({ state: 'given' })
      .where(
        and(at(answer), eq(keptAnswers.requestId, answer.requestId), inArray(keptAnswers.state, ['kept', 'given'])),
      )
    return marked.rowsAffected === 1
  }

  async free(place: IdempotencyPlace, requestId: RequestId): Promise<void> {
    await this.db
      .delete(keptAnswers)
      .where(and(at(place), eq(keptAnswers.requestId, requestId), eq(keptAnswers.state, 'reserved')))
  }

  async prune(now: number): Promise<void> {
    await this.db.delete(keptAnswers).where(lte(keptAnswers.at, now - RETENTION_MS))
  }
}

function at({ account, operation, key }: IdempotencyPlace) {
  return and(eq(keptAnswers.account, account), eq(keptAnswers.operation, operation), eq(keptAnswers.key, key))
}
