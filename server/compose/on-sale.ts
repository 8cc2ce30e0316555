import type { Stores } from '../adapters/stores/libsql/stores'
import type { Config } from '../config'
import { ApiRegistry } from '../core/apis/api-store'
import { Closings } from '../core/apis/closings'
import type { Clock } from '../core/clock'
import { openModelCatalog } from './models'

/** What is on sale and at what price. */
export async function openOnSale(config: Config, stores: Stores, clock: Clock) {
  const apis = new ApiRegistry()
  const apiClosings = new Closings(stores.apiClosings)
  const onSale = {
    async read() {
      const all = await stores.apis.all()
      return () => apis.replace(all)
    },
  }
  await stores.copies.add(onSale, apiClosings)
  const { catalog, reloadModels } = await openModelCatalog(config, stores.models, clock)
  return { apis, apiClosings, catalog, reloadModels, prices: stores.prices }
}
