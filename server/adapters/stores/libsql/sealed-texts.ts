import { and, eq, sql } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import { secretPlace } from '../../../core/apis/catalog/sealed-auth'
import type { WebhookId } from '../../../core/ids'
import type { SealedText, SealedTexts } from '../../../core/secrets/resealing'
import { webhookPlace } from '../../../core/webhooks/webhooks'
import { apis } from './schema/apis'
import { webhooks } from './schema/events'

/** The secrets of imported APIs and of webhooks. */
export class LibsqlSealedTexts implements SealedTexts {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly SealedText[]> {
    const { id, secret, previousSecret } = webhooks
    const endpoints = await this.db.select({ id, secret, previousSecret }).from(webhooks)
    const sold = await this.db.select({ name: apis.name, auth: apis.auth }).from(apis)
    return [
      ...endpoints.flatMap((row) => [
        { place: webhookPlace(row.id, 'secret'), sealed: row.secret },
        ...(row.previousSecret === null
          ? []
          : [{ place: webhookPlace(row.id, 'previous_secret'), sealed: row.previousSecret }]),
      ]),
      ...sold.flatMap(({ name, auth }) =>
        'secret' in auth && auth.secret.from === 'database'
          ? [{ place: secretPlace(name), sealed: auth.secret.sealed }]
          : [],
      ),
    ]
  }

  async replace({ place, sealed }: SealedText, by: string): Promise<void> {
    if (place.table === 'apis') {
      const isSame = sql`json_extract(${apis.auth}, '$.secret.sealed') = ${sealed}`
      await this.db
        .update(apis)
        .set({ auth: sql`json_set(${apis.auth}, '$.secret.sealed', ${by})` })
        .where(and(eq(apis.name, place.row), isSame))
      return
    }
    const id = place.row as WebhookId // a row of `all`
    const [column, change] =
      place.column === 'secret' ? [webhooks.secret, { secret: by }] : [webhooks.previousSecret, { previousSecret: by }]
    await this.db
      .update(webhooks)
      .set(change)
      .where(and(eq(webhooks.id, id), eq(column, sealed)))
  }
}
