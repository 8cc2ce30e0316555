import type { WebhookEvent } from '../../api/webhooks.ts'

/** The events that any owner can choose. */
export const CHOOSABLE_EVENTS: readonly WebhookEvent[] = [
  'key.created',
  'key.rotated',
  'key.disabled',
  'key.exhausted',
  'key.expiring',
  'key.revoked',
  'budget.threshold',
  'balance.low',
  'balance.empty',
  'topup.completed',
  'topup.failed',
  'tier.changed',
  'limits.requested',
  'limits.decided',
  'social.linked',
  'social.revoked',
  'app.connected',
  'app.disconnected',
  'webhook.paused',
]
