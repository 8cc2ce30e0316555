import { parseInstant, RFC_3339 } from '../../../core/accounts/instant'

const RULE = 'must be an RFC 3339 time such as 2026-11-21T00:00:00Z'

export const INSTANT = {
  in: 'query',
  kind: 'text',
  min: 1,
  max: 40,
  pattern: { source: RFC_3339, rule: RULE },
  check: (text: string) => (parseInstant(text) === null ? RULE : null),
} as const

/** Its milliseconds; null if it was not sent. */
export function instantOf(text: string | undefined): number | null {
  return text === undefined ? null : parseInstant(text)
}
