import { Webhook } from 'standardwebhooks'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import type { SendWebhook } from '../../core/webhooks/webhook'

const TIMEOUT_MS = 10_000
/** A longer answer counts as a failure. */
const MAX_ANSWER_BYTES = 256 * 1024
const KEPT_BYTES = 4 * 1024

/** Sends events signed by the Standard Webhooks convention, without following redirects. */
export function openWebhookSender(fetch: OutboundFetch): SendWebhook {
  return async ({ url, eventId, at, body, secrets, signal }) => {
    const started = performance.now()
    const sentAt = new Date(at)
    const answer = await fetch({
      url,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': eventId,
        'webhook-timestamp': String(Math.floor(at / 1000)),
        'webhook-signature': secrets.map((secret) => new Webhook(secret).sign(eventId, sentAt, body)).join(' '),
      },
      body,
      timeoutMs: TIMEOUT_MS,
      maxBytes: MAX_ANSWER_BYTES,
      signal,
    })
    const durationMs = Math.round(performance.now() - started)
    if (!answer.ok) return { status: null, body: null, error: answer.error.reason, durationMs }
    const { status, body: received } = answer.value
    const kept = new TextDecoder().decode(received.subarray(0, KEPT_BYTES))
    const error = status >= 200 && status < 300 ? null : `The endpoint answered with status ${status}.`
    return { status, body: kept, error, durationMs }
  }
}
