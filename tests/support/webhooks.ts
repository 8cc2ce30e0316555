import { sql } from 'drizzle-orm'
import type { DeliveryId, WebhookId } from '../../server/core/ids'
import { WebhookCodes } from '../../server/core/webhooks/webhook-codes'
import type { Harness } from './harness'

interface SentCode {
  readonly id: WebhookId
  readonly url: string
  readonly delivery: DeliveryId
}

/** The newest code of an endpoint: what only its receiver learns. */
export async function codeOfWebhook({ core, config }: Pick<Harness, 'core' | 'config'>, id: string): Promise<string> {
  const [sent] = await core.stores.db.all<SentCode>(sql`SELECT w.id, w.url, max(d.id) AS delivery FROM webhooks w
    JOIN webhook_deliveries d ON d.webhook_id = w.id AND d.type = 'webhook.confirm' WHERE w.id = ${id}`)
  if (!sent?.delivery) throw new Error(`no code was made for ${id}`)
  return new WebhookCodes(config.secretKey).of(sent, sent.delivery)
}

/** Enters the code of a new endpoint before it is sent, so that its receiver gets the events of a test alone. */
export async function confirmWebhook(
  gateway: Pick<Harness, 'core' | 'config'>,
  owner: { api(path: string, body?: unknown, method?: string): Promise<Response> },
  id: string,
): Promise<void> {
  const answer = await owner.api(`/api/webhooks/${id}/confirm`, { code: await codeOfWebhook(gateway, id) })
  if (answer.status !== 200) throw new Error(`not confirmed: ${await answer.text()}`)
}
