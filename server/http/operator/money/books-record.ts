import type { Static } from '@sinclair/typebox'
import type { ParameterTable } from '../../../core/catalog/parameters'
import { ENTRY_KINDS } from '../../../core/ledger/entry'
import { INSTANT } from '../../middleware/input/instant-parameter'
import { TIME_ZONE } from '../../middleware/input/time-zone-parameter'
import { instant, listOf, microsUsd, oneOf, record, text, whole } from '../../openapi/json-schema'

const MONTH_RULE = 'must be a month such as 2026-11'

/** A month, or a period from one time to another. */
export const BOOKS_QUERY = {
  month: {
    in: 'query',
    kind: 'text',
    min: 7,
    max: 7,
    pattern: { source: /^[1-9]\d{3}-(0[1-9]|1[0-2])$/, rule: MONTH_RULE },
    description: 'The month.',
    example: '2026-11',
  },
  from: { ...INSTANT, description: 'The first moment, instead of a month.', example: '2026-11-01T00:00:00Z' },
  to: { ...INSTANT, description: 'The first moment after it.', example: '2026-12-01T00:00:00Z' },
  timezone: { ...TIME_ZONE, description: 'The time zone in which the month begins and ends.' },
} as const satisfies ParameterTable

export const BOOKS_FILE_QUERY = {
  ...BOOKS_QUERY,
  entries: { in: 'query', kind: 'boolean', default: false, description: 'List every entry, in place of days.' },
} as const satisfies ParameterTable

const Balance = record('A ledger account. Balances are credits minus debits.', {
  account: text(
    'The ledger account. `customers/credit`, `customers/paid`, `customers/debt`: those of all customers together.',
  ),
  opening_micros_usd: microsUsd('The balance at the beginning.'),
  debits_micros_usd: microsUsd('What left it.', { minimum: 0 }),
  credits_micros_usd: microsUsd('What it got.', { minimum: 0 }),
  closing_micros_usd: microsUsd('The balance at the end: opening + credits - debits.'),
})

export const BookStatement = record('The books of a period. All balances together are zero.', {
  from: instant('The first moment of the period.'),
  to: instant('The first moment after it.'),
  accounts: listOf(Balance, 'Every ledger account of the gateway, and those of its customers together.'),
  kinds: listOf(
    record('The entries of one kind.', {
      kind: oneOf(ENTRY_KINDS, 'The kind.'),
      entries: whole('How many.', { minimum: 0 }),
      amount_micros_usd: microsUsd('Their sum.', { minimum: 0 }),
    }),
    'The entries of the period by kind.',
  ),
  entries: whole('How many entries the period has.', { minimum: 0 }),
  owed_to_customers_micros_usd: microsUsd('What customers can still spend at the end of the period.'),
})
export type BookStatement = Static<typeof BookStatement>
