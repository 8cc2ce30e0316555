import type { AuditEntry } from '../audit'
import type { AccountId, PriceId } from '../ids'
import type { Money } from '../money'
import { type BasePriceName, CATALOG_VERSION, type Price, type PriceName } from './operation'
import { catalogPrice } from './operations'

/** An operator's price for an operation, for everyone or for one account. Overrides are never changed; the newest one applies. */
export interface PriceOverride {
  readonly id: PriceId
  readonly operation: PriceName | ModelPriceName
  readonly accountId: AccountId | null
  /** Null removes the override. */
  readonly amount: Money | null
  /** Of the list price of models, in hundredths of a percent, in place of an amount. Null removes the override. */
  readonly basisPoints?: number | null
  readonly at: number
}

/** An override of the price of one model, or of all, for one account. */
export type ModelPriceName = `model:${string}`
export const ALL_MODELS = '*'
const MODEL_PRICE = 'model:'

/** What an account pays of the list price of a model. */
export interface ModelOverride extends PriceOverride {
  readonly accountId: AccountId
  readonly basisPoints: number
}

export function modelPriceName(model: string): ModelPriceName {
  return `${MODEL_PRICE}${model}`
}

/** The model whose price an override is of, or `ALL_MODELS`; null if it is the price of an operation. */
export function overriddenModel({ operation }: PriceOverride): string | null {
  return operation.startsWith(MODEL_PRICE) ? operation.slice(MODEL_PRICE.length) : null
}

/** Stores overrides. When `add` resolves, the override is durable, in the audit log, and visible to `newest`. */
export interface PriceStore {
  newest(operation: PriceOverride['operation'], account: AccountId | null): PriceOverride | null
  /** What an account pays of the list price of a model: of its own override, else of that for all models. Null: all of it. */
  modelOverride(model: string, account: AccountId): ModelOverride | null
  add(override: PriceOverride, audit: AuditEntry): Promise<void>
  all(): readonly PriceOverride[]
}

/** The prices, for those that only ask. */
export type Prices = Pick<PriceStore, 'newest'>

/** The newest override of each operation and account. */
export class PriceTable {
  private readonly current = new Map<string, PriceOverride>()
  private readonly models = new Map<AccountId, Map<string, ModelOverride>>()

  newest(operation: PriceOverride['operation'], account: AccountId | null): PriceOverride | null {
    return this.current.get(priceKey(operation, account)) ?? null
  }

  modelOverride(model: string, account: AccountId): ModelOverride | null {
    // Hardly any account has one, and each call of a model asks.
    const own = this.models.get(account)
    return own ? (own.get(model) ?? own.get(ALL_MODELS) ?? null) : null
  }

  all(): readonly PriceOverride[] {
    return [...this.current.values()]
  }

  clear(): void {
    this.current.clear()
    this.models.clear()
  }

  set(override: PriceOverride): void {
    this.current.set(priceKey(override.operation, override.accountId), override)
    const { accountId, basisPoints } = override
    const model = overriddenModel(override)
    if (model === null || accountId === null) return
    const own = this.models.get(accountId) ?? new Map<string, ModelOverride>()
    if (typeof basisPoints === 'number') own.set(model, { ...override, accountId, basisPoints })
    else own.delete(model)
    if (own.size > 0) this.models.set(accountId, own)
    else this.models.delete(accountId)
  }
}

function priceKey(operation: PriceOverride['operation'], account: AccountId | null): string {
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
