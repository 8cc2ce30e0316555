import { formatUsd, micros } from '../../core/money'
import { csvLine } from '../middleware/response/csv'
import { KEY_SETTINGS, type KeyRecord } from './record'

type Cell = string | number | null

interface Column {
  readonly field: keyof KeyRecord
  cell(key: KeyRecord): Cell
}

function column<F extends keyof KeyRecord>(field: F, cellOf: (value: KeyRecord[F]) => Cell = plainCell): Column {
  return { field, cell: (key) => cellOf(key[field]) }
}

const LISTED: Readonly<Record<string, Column>> = {
  key_id: column('id'),
  name: column('name'),
  prefix: column('prefix'),
  last4: column('last4'),
  status: column('status'),
  tags: column('tags', (tags) => tags.join(', ')),
  note: column('note'),
  created_utc: column('created_at'),
  created_by: column('created_by', (app) => app?.name ?? null),
  last_used_utc: column('last_used_at'),
  expires_utc: column('expires_at'),
  spent_usd: column('spent_micros_usd', usdOf),
  spending_limit_usd: column('spending_limit'),
  remaining_usd: column('remaining_micros_usd', (left) => (left === null ? null : usdOf(left))),
  budget_usd: column('budget', (budget) => budget?.limit_usd ?? null),
  budget_period: column('budget', (budget) => budget?.period ?? null),
  allowed_ips: column('allowed_ips'),
  allowed_endpoints: column('allowed_endpoints'),
  allowed_models: column('allowed_models'),
  requests_per_minute: column('rpm_limit'),
  tokens_per_minute: column('tpm_limit'),
  stops_utc: column('stops_at'),
  replaces: column('replaces'),
  replaced_by: column('replaced_by'),
}

const LISTED_FIELDS = new Set(Object.values(LISTED).map(({ field }) => field))

/**
 * The columns of the keys as CSV. New ones are appended, so that programs that read columns by position keep working: every setting that is not
 * listed above has one, under its own name.
 */
const COLUMNS: Readonly<Record<string, Column>> = {
  ...LISTED,
  ...Object.fromEntries(
    KEY_SETTINGS.filter((field) => !LISTED_FIELDS.has(field)).map((field) => [field, column(field)]),
  ),
}

export const KEYS_CSV_HEAD = Object.keys(COLUMNS)

export function csvOfKey(key: KeyRecord): string {
  return csvLine(Object.values(COLUMNS).map(({ cell }) => cell(key)))
}

function plainCell(value: KeyRecord[keyof KeyRecord]): Cell {
  if (Array.isArray(value)) return value.map(plainCell).join(' ')
  return value !== null && typeof value === 'object' ? JSON.stringify(value) : (value as Cell)
}

function usdOf(amount: number): string {
  return formatUsd(micros(amount))
}
