import { type ApiKey, keyStatus, type SpendPool } from '../../core/credentials/api-key'
import type { CredentialStore } from '../../core/credentials/store'
import type { Ledger } from '../../core/ledger/ledger'
import { least, minus, toUsdNumber } from '../../core/money'

/** The key as owners see it (spec 2.1, spec-answers 3). */
export async function keyRecord(key: ApiKey, parts: { credentials: CredentialStore; ledger: Ledger; now: number }) {
  const [pool, budget, window, lastUsedAt] = await Promise.all([
    parts.ledger.pool(key.poolId),
    parts.credentials.budgetOf(key.poolId),
    parts.ledger.budget(key.poolId),
    parts.credentials.lastUsedAt(key.id),
  ])
  if (!pool) throw new Error(`key ${key.id} has no spend pool`)
  return {
    id: key.id,
    name: key.name,
    prefix: key.prefix,
    last4: key.last4,
    status: keyStatus(key, pool, parts.now),
    ...spending(pool),
    allowed_ips: key.allowedIps,
    expires_at: instant(key.expiresAt),
    created_at: new Date(key.createdAt).toISOString(),
    last_used_at: instant(lastUsedAt),
    stops_at: instant(key.stopsAt),
    budget: budget && { limit_usd: budget.limitUsd, period: budget.period, timezone: budget.timezone },
    budget_window: window && {
      spent_micros_usd: window.spent,
      remaining_micros_usd: minus(window.limit, least(window.spent, window.limit)),
      starts_at: new Date(window.startsAt).toISOString(),
      ends_at: new Date(window.endsAt).toISOString(),
    },
    allowed_endpoints: key.allowedEndpoints,
    allowed_models: key.allowedModels,
    rpm_limit: key.rpmLimit,
    tpm_limit: key.tpmLimit,
    replaces: key.replaces,
    replaced_by: key.replacedBy,
  }
}

function spending({ limit, spent }: SpendPool) {
  return {
    spending_limit: limit === null ? null : toUsdNumber(limit),
    spent_micros_usd: spent,
    remaining_micros_usd: limit === null ? null : minus(limit, least(spent, limit)),
  }
}

function instant(at: number | null): string | null {
  return at === null ? null : new Date(at).toISOString()
}
