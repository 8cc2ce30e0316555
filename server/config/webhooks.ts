import type { DeliveryBounds } from '../core/webhooks/delivering'
import { flag, group, integer, type Read } from './schema/setting'

const MAX_PER_MINUTE = 100_000

export const WEBHOOKS = group('Webhooks', '', {
  WEBHOOKS_ALLOW_PRIVATE: flag({
    default: false,
    doc: 'Whether endpoints of [webhooks](webhooks.md) may have private addresses and use http. Link-local and metadata addresses never',
  }),
  WEBHOOK_HOST_RPM: integer({
    default: 60,
    min: 1,
    max: MAX_PER_MINUTE,
    doc: 'Deliveries per minute to one host, of all accounts together; the others wait. An account has half while another waits',
  }),
  WEBHOOK_ACCOUNT_RPM: integer({
    default: 120,
    min: 1,
    max: MAX_PER_MINUTE,
    doc: 'Deliveries per minute of one account, to all hosts together; the others wait',
  }),
})

export interface WebhookSettings extends DeliveryBounds {
  /** Whether receivers may be private addresses, and need no https. */
  readonly allowsPrivate: boolean
}

export function webhookSettings(read: Read): WebhookSettings {
  const { WEBHOOKS_ALLOW_PRIVATE, WEBHOOK_HOST_RPM, WEBHOOK_ACCOUNT_RPM } = WEBHOOKS.settings
  return {
    allowsPrivate: WEBHOOKS_ALLOW_PRIVATE.of(read),
    perHost: WEBHOOK_HOST_RPM.of(read),
    perAccount: WEBHOOK_ACCOUNT_RPM.of(read),
  }
}
