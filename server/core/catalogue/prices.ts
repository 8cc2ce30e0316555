import type { AuditEntry } from '../audit'
import type { AccountId, PriceId } from '../ids'
import type { Money } from '../money'
import { CATALOGUE_VERSION, type Price, type PriceName } from './operation'
import { cataloguePrice } from './operations'

/** An operator's price of an operation, for everybody or for one account. The newest one counts; none is ever changed. */
export interface PriceOverride {
  readonly id: PriceId
  readonly operation: PriceName
  readonly accountId: AccountId | null
  /** Null takes the override back. */
  readonly amount: Money | null
  readonly at: number
}

/** Where overrides are kept: durable and audited when `add` resolves, and then seen by the next `newest`. */
export interface PriceStore {
  newest(operation: PriceName, account: AccountId | null): PriceOverride | null
  add(override: PriceOverride, audit: AuditEntry): Promise<void>
  all(): readonly PriceOverride[]
}

/** What a unit costs now: the account's price, else the operator's, else the catalogue's (spec-answers 5). */
export function priceOf(store: PriceStore, operation: PriceName, account: AccountId | null): Price {
  for (const whose of account ? [account, null] : [null]) {
    const override = store.newest(operation, whose)
    if (override && override.amount !== null) return { amount: override.amount, version: override.id }
  }
  return { amount: cataloguePrice(operation), version: CATALOGUE_VERSION }
}
