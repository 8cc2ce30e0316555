import type { ControlStores } from '../adapters/stores/libsql/control-stores'
import type { Config } from '../config'
import { SetupToken } from '../core/accounts/staff/setup-token'
import { ApiRegistry } from '../core/apis/api-store'
import { Closings } from '../core/apis/closings'
import type { Clock } from '../core/clock'
import type { Opening } from '../core/cluster/opening'
import { openModelCatalog } from './models'

/** What belongs to no account (ADR 45): what is on sale and at what price. */
export async function openControl(
  config: Config,
  stores: ControlStores,
  { clock, opening }: { readonly clock: Clock; readonly opening: Opening },
) {
  const apis = new ApiRegistry()
  const apiClosings = new Closings(stores.apiClosings)
  const onSale = {
    async read() {
      const all = await stores.apis.all()
      return () => apis.replace(all)
    },
  }
  const inMemory = [onSale, apiClosings]
  for (const copy of inMemory) (await copy.read())()
  stores.copies.add(...inMemory)
  const { catalog, reloadModels } = await openModelCatalog(config, stores.models, clock)
  // A SIGHUP since this was prepared reached only gateways that serve.
  if (opening.isAhead) await opening.whenOwned(async () => void (await reloadModels()))
  return { apis, apiClosings, catalog, reloadModels, prices: stores.prices, setupToken: new SetupToken() }
}
