import type { RetentionDays } from '../core/usage/retention'
import { ConfigError } from './config-error'
import { group, integer, type Read } from './schema/setting'

const MAX_DAYS = 36_500
/** An event's row keeps its cause from making it again: a key's expiry is announced 3 days before. */
const MIN_EVENT_DAYS = 7

export const RETENTION = group('How long rows are kept', '', {
  REQUEST_LOG_DAYS: integer({
    default: 400,
    min: 0,
    max: MAX_DAYS,
    doc: "How many days calls stay in the request log; 0 keeps them. Older calls that cost nothing are deleted, charged ones lose the IP address and the caller's id ([ADR 33](adr/0033-upkeep.md))",
  }),
  AUDIT_DAYS: integer({
    default: 0,
    min: 0,
    max: MAX_DAYS,
    doc: 'How many days entries of the audit log stay; 0 keeps them',
  }),
  EVENT_DAYS: integer({
    default: 0,
    min: 0,
    max: MAX_DAYS,
    doc: `How many days notices and the log of webhook deliveries stay, at least ${MIN_EVENT_DAYS}; 0 keeps them`,
  }),
})

export function retentionDays(read: Read): RetentionDays {
  const { REQUEST_LOG_DAYS, AUDIT_DAYS, EVENT_DAYS } = RETENTION.settings
  const events = EVENT_DAYS.of(read)
  if (events > 0 && events < MIN_EVENT_DAYS)
    throw new ConfigError(`EVENT_DAYS must be 0 or at least ${MIN_EVENT_DAYS}, but is ${events}`)
  return { requests: REQUEST_LOG_DAYS.of(read), audit: AUDIT_DAYS.of(read), events }
}
