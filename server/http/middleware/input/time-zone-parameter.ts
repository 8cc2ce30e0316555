import { isTimeZone } from '../../../core/usage/calendar'

export const TIME_ZONE = {
  in: 'query',
  kind: 'text',
  min: 1,
  max: 64,
  default: 'UTC',
  check: (name: string) => (isTimeZone(name) ? null : 'must be an IANA time zone such as Europe/Berlin'),
} as const
