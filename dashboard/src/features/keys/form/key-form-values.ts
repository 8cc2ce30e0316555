import { Allowlist } from '../../../../../server/core/credentials/allowlist.ts'
import { KEY_SIZES } from '../../../../../server/core/credentials/api-key.ts'
import type { ApiKey, KeySettings } from '../../../api/keys.ts'
import { KEY_TEXT as TEXT } from '../../../messages/keys.ts'
import { budgetsError, type TypedBudgets, toBudgets, typedBudgets } from '../../../ui/budgets/budget-values.ts'
import type { BudgetPeriod } from '../../../ui/budgets/current-budgets.ts'
import { limitUsd } from '../../../ui/format/money.ts'
import {
  splitEntries,
  TYPED_NAMES,
  type TypedValues,
  typedError,
  typedSettings,
  typedValues,
} from '../typed-settings.ts'
import type { Endpoint } from './endpoints.ts'

const DAY_MS = 24 * 60 * 60 * 1000

/** The values of the form as entered. */
export interface KeyFormValues extends TypedValues {
  readonly name: string
  readonly limited: boolean
  readonly limit: string
  readonly ips: string
  readonly expires: string
  readonly expiresDate: string
  readonly budgets: TypedBudgets
  readonly scopePeriod: '' | BudgetPeriod
  readonly scopeBudget: string
  /** Empty means all. */
  readonly endpoints: readonly Endpoint[]
}

export type KeyErrors = Partial<Record<keyof KeyFormValues, string>>

/** The IP addresses in a text, separated by spaces, commas or line breaks. */
export function parseIps(text: string): string[] {
  return splitEntries(text).map((entry) => entry.toLowerCase())
}

/** The errors of the form, by field. IP addresses are checked with the server's own rules. */
export function validateKey(values: KeyFormValues): KeyErrors {
  const name = values.name.trim()
  const errors: KeyErrors = {}
  if (name === '') errors.name = TEXT.nameNeeded
  else if ([...name].length > KEY_SIZES.name) errors.name = TEXT.nameLong
  if (values.limited && limitUsd(values.limit) === null) errors.limit = TEXT.limitWrong
  const ips = parseIps(values.ips)
  const parsed = Allowlist.parse(ips)
  if (ips.length > KEY_SIZES.allowedIps) errors.ips = TEXT.ipsMany
  else if (!parsed.ok) errors.ips = TEXT.ipWrong(parsed.error.entry, parsed.error.rule)
  if (values.expires === 'date' && !(Date.parse(values.expiresDate) > Date.now()))
    errors.expiresDate = TEXT.expiresWrong
  const wrongBudgets = budgetsError(values.budgets)
  if (wrongBudgets !== undefined) errors.budgets = wrongBudgets
  if (values.scopePeriod !== '' && limitUsd(values.scopeBudget) === null) errors.scopeBudget = TEXT.scopeWrong
  for (const field of TYPED_NAMES) {
    const wrong = typedError(field, values[field])
    if (wrong !== undefined) errors[field] = wrong
  }
  return errors
}

/** The request body. For an existing key, only the settings that changed. */
export function toSettings(values: KeyFormValues, key: ApiKey | null, zone: string): KeySettings {
  const wanted: KeySettings = {
    name: values.name.trim(),
    spending_limit: values.limited ? limitUsd(values.limit) : null,
    allowed_ips: parseIps(values.ips),
    ...(values.expires !== 'keep' && { expires_at: expiryOf(values) }),
    budgets: toBudgets(values.budgets, key?.budgets ?? [], zone),
    scope_budget: scopeBudgetOf(values),
    allowed_endpoints: [...values.endpoints],
    ...typedSettings(values),
  }
  if (key === null) return wanted
  const differs = ([name, value]: [string, unknown]) => canonical(value) !== canonical(Reflect.get(key, name))
  return Object.fromEntries(Object.entries(wanted).filter(differs))
}

/** The order of a list does not matter. */
function canonical(value: unknown): string {
  return JSON.stringify(Array.isArray(value) ? [...value].sort() : value)
}

export function initialValues(key: ApiKey | null): KeyFormValues {
  return {
    name: key?.name ?? '',
    limited: key !== null && key.spending_limit !== null,
    limit: key?.spending_limit?.toString() ?? '',
    ips: key?.allowed_ips.join('\n') ?? '',
    expires: key !== null && key.expires_at !== null ? 'keep' : '',
    expiresDate: '',
    budgets: typedBudgets(key?.budgets ?? []),
    scopePeriod: key?.scope_budget?.period ?? '',
    scopeBudget: key?.scope_budget?.limit_usd.toString() ?? '',
    endpoints: key?.allowed_endpoints ?? [],
    ...typedValues(key),
  }
}

function scopeBudgetOf({ scopePeriod: period, scopeBudget }: KeyFormValues) {
  const limit = limitUsd(scopeBudget)
  return period === '' || limit === null ? null : { limit_usd: limit, period }
}

function expiryOf({ expires, expiresDate }: KeyFormValues): string | null {
  if (expires === '') return null
  if (expires === 'date') return new Date(`${expiresDate}T23:59:59`).toISOString()
  return new Date(Date.now() + Number(expires) * DAY_MS).toISOString()
}
