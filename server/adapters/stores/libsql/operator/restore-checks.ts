import { and, asc, eq, gt, isNull, or, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { RestoreCheck, RestoreCheckStore, RestoredKey } from '../../../../core/backup/restored'
import type { Clock } from '../../../../core/clock'
import type { KeyId } from '../../../../core/ids'
import { keys } from '../schema/keys'
import { restoreChecks } from '../schema/operator-money'

export class LibsqlRestoreChecks implements RestoreCheckStore {
  private readonly db: LibSQLDatabase
  private readonly clock: Clock

  constructor(db: LibSQLDatabase, clock: Clock) {
    this.db = db
    this.clock = clock
  }

  liveKeys(limit: number, after: KeyId | null): Promise<readonly RestoredKey[]> {
    const { id, accountId: account, name, prefix, last4, lastUsedAt, revokedAt, disabledAt, stopsAt, expiresAt } = keys
    const now = this.clock.now()
    return this.db
      .select({ id, account, name, prefix, last4, lastUsedAt })
      .from(keys)
      .where(
        and(
          after === null ? undefined : gt(id, after),
          isNull(revokedAt),
          isNull(disabledAt),
          or(isNull(stopsAt), sql`${stopsAt} > ${now}`),
          or(isNull(expiresAt), sql`${expiresAt} > ${now}`),
        ),
      )
      .orderBy(asc(id))
      .limit(limit)
  }

  async checkOf(restoredAt: number): Promise<RestoreCheck | null> {
    const [row] = await this.db.select().from(restoreChecks).where(eq(restoreChecks.restoredAt, restoredAt))
    return row ?? null
  }

  async checked(check: RestoreCheck): Promise<void> {
    await this.db
      .insert(restoreChecks)
      .values(check)
      .onConflictDoUpdate({ target: restoreChecks.restoredAt, set: { checkedAt: check.checkedAt, actor: check.actor } })
  }
}
