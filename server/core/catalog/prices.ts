import type { AuditEntry } from '../audit'
import type { AccountId, PriceId } from '../ids'
import type { Money } from '../money'
import { type BasePriceName, CATALOG_VERSION, type Price, type PriceName } from './operation'
import { catalogPrice } from './operations'

/** An operator's price for an operation, for everyone or for one account. Overrides are never changed; the newest one applies. */
export interface PriceOverride {
  readonly id: PriceId
  readonly operation: PriceName
  readonly accountId: AccountId | null
  /** Null removes the override. */
  readonly amount: Money | null
  readonly at: number
}

/** Stores overrides. When `add` resolves, the override is durable, in the audit log, and visible to `newest`. */
export interface PriceStore {
  newest(operation: PriceName, account: AccountId | null): PriceOverride | null
  add(override: PriceOverride, audit: AuditEntry): Promise<void>
  all(): readonly PriceOverride[]
}

/** The prices, for those that only ask. */
export type Prices = Pick<PriceStore, 'newest'>

/** The newest override of each operation and account. */
export class PriceTable {
  private readonly current = new Map<string, PriceOverride>()

  newest(operation: PriceName, account: AccountId | null): PriceOverride | null {
    return this.current.get(priceKey(operation, account)) ?? null
  }

  all(): readonly PriceOverride[] {
    return [...this.current.values()]
  }

  set(override: PriceOverride): void {
    this.current.set(priceKey(override.operation, override.accountId), override)
  }
}

function priceKey(operation: PriceName, account: AccountId | null): string {
  return `${operation}/${account ?? ''}`
}

/** The current price of a unit: the account's, else the operator's, else the catalog's (spec D5). */
export function currentPrice(store: Prices, operation: BasePriceName, account: AccountId | null): Price {
  return operatorPrice(store, operation, account) ?? { amount: catalogPrice(operation), version: CATALOG_VERSION }
}

/** The price that an operator set for the account, else for everyone, or null. Earlier prices than `since` do not count. */
export function operatorPrice(store: Prices, operation: PriceName, account: AccountId | null, since = 0): Price | null {
  const own = account && setPrice(store, operation, account, since)
  return own ?? setPrice(store, operation, null, since)
}

function setPrice(store: Prices, operation: PriceName, scope: AccountId | null, since: number): Price | null {
  const override = store.newest(operation, scope)
  if (!override || override.amount === null || override.at < since) return null
  return { amount: override.amount, version: override.id }
}
