import { and, eq, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { secretContext } from '../../../../core/apis/catalog/sealed-auth'
import type { SealedText, SealedTexts } from '../../../../core/secrets/resealing'
import { apis } from '../schema/apis'

/** The secrets of imported APIs. */
export class LibsqlSealedApis implements SealedTexts {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly SealedText[]> {
    const sold = await this.db.select({ name: apis.name, auth: apis.auth }).from(apis)
    return sold.flatMap(({ name, auth }) =>
      'secret' in auth && auth.secret.from === 'database'
        ? [{ context: secretContext(name), sealed: auth.secret.sealed }]
        : [],
    )
  }

  async replace({ context, sealed }: SealedText, by: string): Promise<void> {
    const isSame = sql`json_extract(${apis.auth}, '$.secret.sealed') = ${sealed}`
    await this.db
      .update(apis)
      .set({ auth: sql`json_set(${apis.auth}, '$.secret.sealed', ${by})` })
      .where(and(eq(apis.name, context.row), isSame))
  }
}
