import { and, eq } from 'drizzle-orm'
import type { LibSQLDatabase } from 'drizzle-orm/libsql'
import type { WebhookId } from '../../../../core/ids'
import type { SealedText, SealedTexts } from '../../../../core/secrets/resealing'
import { webhookContext } from '../../../../core/webhooks/webhooks'
import { webhooks } from '../schema/events'

/** The secrets of webhooks. */
export class LibsqlSealedWebhooks implements SealedTexts {
  private readonly db: LibSQLDatabase

  constructor(db: LibSQLDatabase) {
    this.db = db
  }

  async all(): Promise<readonly SealedText[]> {
    const { id, secret, previousSecret } = webhooks
    const endpoints = await this.db.select({ id, secret, previousSecret }).from(webhooks)
    return endpoints.flatMap((row) => [
      { context: webhookContext(row.id, 'secret'), sealed: row.secret },
      ...(row.previousSecret === null
        ? []
        : [{ context: webhookContext(row.id, 'previous_secret'), sealed: row.previousSecret }]),
    ])
  }

  async replace({ context, sealed }: SealedText, by: string): Promise<void> {
    const id = context.row as WebhookId // a row of `all`
    const [column, change] =
      context.column === 'secret'
        ? [webhooks.secret, { secret: by }]
        : [webhooks.previousSecret, { previousSecret: by }]
    await this.db
      .update(webhooks)
      .set(change)
      .where(and(eq(webhooks.id, id), eq(column, sealed)))
  }
}
