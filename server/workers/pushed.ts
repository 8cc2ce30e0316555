import { type PriceOverride, PriceTable } from '../core/catalog/prices'
import type { Model } from '../core/models/model'
import { ModelCatalog, type ModelStore } from '../core/models/model-catalog'

/** What the primary pushes to its workers: whole, and again after each change. */
export interface Tables {
  readonly models: readonly Model[]
  readonly prices: readonly PriceOverride[]
  /** How many workers share the concurrency of each upstream. */
  readonly workers: number
}

const NO_MODELS: Pick<ModelStore, 'all'> = { all: () => [] }

/** A worker's copy of the tables, which it uses from the moment in which they arrive. Empty before the first push. */
export class PushedTables {
  readonly catalog = new ModelCatalog([], NO_MODELS)
  readonly prices = new PriceTable()

  take({ models, prices, workers }: Tables): void {
    this.catalog.replaceFixed(models.map((model) => shared(model, workers)))
    // Overrides are only added.
    for (const price of prices) this.prices.set(price)
  }
}

/** A worker's part of the concurrency of an upstream. */
function shared(model: Model, workers: number): Model {
  const upstreams = model.upstreams.map((upstream) => ({
    ...upstream,
    concurrency: Math.max(1, Math.floor(upstream.concurrency / workers)),
  }))
  return { ...model, upstreams }
}
