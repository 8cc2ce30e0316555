import { formatUsd, micros } from '../../core/money'
import { csvLine } from '../middleware/response/csv'
import type { KeyRecord } from './record'

/** The columns of the keys as CSV. New ones are appended, so that programs that read columns by position keep working. */
const COLUMNS: Readonly<Record<string, (key: KeyRecord) => string | number | null>> = {
  key_id: ({ id }) => id,
  name: ({ name }) => name,
  prefix: ({ prefix }) => prefix,
  last4: ({ last4 }) => last4,
  status: ({ status }) => status,
  tags: ({ tags }) => tags.join(', '),
  note: ({ note }) => note,
  created_utc: ({ created_at }) => created_at,
  created_by: ({ created_by }) => created_by?.name ?? null,
  last_used_utc: ({ last_used_at }) => last_used_at,
  expires_utc: ({ expires_at }) => expires_at,
  spent_usd: ({ spent_micros_usd }) => usdOf(spent_micros_usd),
  spending_limit_usd: ({ spending_limit }) => spending_limit,
  remaining_usd: ({ remaining_micros_usd: left }) => (left === null ? null : usdOf(left)),
  budget_usd: ({ budget }) => budget?.limit_usd ?? null,
  budget_period: ({ budget }) => budget?.period ?? null,
  allowed_ips: ({ allowed_ips }) => allowed_ips.join(' '),
  allowed_endpoints: ({ allowed_endpoints }) => allowed_endpoints.join(' '),
  allowed_models: ({ allowed_models }) => allowed_models.join(' '),
  requests_per_minute: ({ rpm_limit }) => rpm_limit,
  tokens_per_minute: ({ tpm_limit }) => tpm_limit,
  stops_utc: ({ stops_at }) => stops_at,
  replaces: ({ replaces }) => replaces,
  replaced_by: ({ replaced_by }) => replaced_by,
}

export const KEYS_CSV_HEAD = Object.keys(COLUMNS)

export function csvOfKey(key: KeyRecord): string {
  return csvLine(Object.values(COLUMNS).map((cell) => cell(key)))
}

function usdOf(amount: number): string {
  return formatUsd(micros(amount))
}
