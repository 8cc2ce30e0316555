import type { AuditEntry } from '../audit'
import type { AccountId } from '../ids'
import { isOpenTo, type Model, type ModelBuyer } from './model'
import { adjusted, type PriceAdjustment } from './price-adjustment'

/** Models that an operator added to the database. When a change resolves, it is durable, in the audit log, and visible to the next call. */
export interface ModelStore {
  all(): readonly Model[]
  /** The entry as the operator wrote it; undefined when the model is not in the database. */
  entryOf(id: string): unknown
  /** `entry` is what the operator wrote; `model` is its parsed form. */
  put(model: Model, entry: unknown, audit: AuditEntry): Promise<void>
  /** Returns false when there is no such model. */
  remove(id: string, audit: AuditEntry): Promise<boolean>
}

/** The adjustment of a model's price for an account: always the same object until it changes. Null: it pays the list price. */
export type AdjustmentFor = (model: string, account: AccountId) => PriceAdjustment | null

/** All available models: those of the sandbox and of MODELS_FILE, and those of the database. */
export class ModelCatalog {
  private fixed: ReadonlyMap<string, Model>
  private readonly store: Pick<ModelStore, 'all'>
  private readonly adjustmentFor: AdjustmentFor

  constructor(fixed: readonly Model[], store: Pick<ModelStore, 'all'>, adjustmentFor: AdjustmentFor = () => null) {
    this.fixed = byId(fixed)
    this.store = store
    this.adjustmentFor = adjustmentFor
  }

  /** Replaces the models of the sandbox and of MODELS_FILE. Returns the ids of those that were added, changed or removed. */
  replaceFixed(models: readonly Model[]): string[] {
    const [before, after] = [this.fixed, byId(models)]
    this.fixed = after
    const ids = [...new Set([...before.keys(), ...after.keys()])]
    return ids.filter((id) => JSON.stringify(before.get(id)) !== JSON.stringify(after.get(id)))
  }

  /** For operators. A model in the database takes precedence over one in the file with the same id. */
  byId(id: string): Model | null {
    for (const model of this.store.all()) if (model.id === id) return model
    return this.fixed.get(id) ?? null
  }

  /** A model as it is on sale to an account, or to strangers: null if it does not exist for them. */
  forBuyer(id: string, buyer: ModelBuyer | null): Model | null {
    const model = this.byId(id)
    return model && isOpenTo(model, buyer) ? this.priced(model, buyer) : null
  }

  /** The models that exist for an account, or for strangers, at their prices. */
  listFor(buyer: ModelBuyer | null): Model[] {
    return this.list()
      .filter((model) => isOpenTo(model, buyer))
      .map((model) => this.priced(model, buyer))
  }

  private priced(model: Model, buyer: ModelBuyer | null): Model {
    const adjustment = buyer && this.adjustmentFor(model.id, buyer.account.id)
    return adjustment ? adjusted(model, adjustment) : model
  }

  /** For operators: whoever may call them, at the list prices. */
  list(): Model[] {
    const models = new Map(this.fixed)
    for (const model of this.store.all()) models.set(model.id, model)
    return [...models.values()].sort((a, b) => (a.id < b.id ? -1 : 1))
  }
}

function byId(models: readonly Model[]): ReadonlyMap<string, Model> {
  return new Map(models.map((model) => [model.id, model]))
}
