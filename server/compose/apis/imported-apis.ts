import { KeyRing } from '../../adapters/sealing/key-ring'
import type { Config } from '../../config'
import type { SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry, ApiStore } from '../../core/apis/api-store'
import { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import type { Closings } from '../../core/apis/closings'
import { OPERATIONS } from '../../core/catalog/operations'
import type { Clock } from '../../core/clock'
import type { Copies } from '../../core/copies'
import { makeId } from '../../core/ids'
import type { Json } from '../../core/json'
import type { Journal } from '../../core/ledger/journal'
import type { OutboundFetch, OutboundRequest } from '../../core/outbound/outbound-fetch'
import { tryOperation } from '../../pipeline/apis/try-operation'
import { type ApiNeeds, composeApis, isClosedHost } from './apis'
import { closedToAll, takerOffSale } from './off-sale'
import { followUpstreamPayments } from './upstream-payments'

interface CatalogNeeds {
  readonly store: ApiStore
  readonly closings: Closings
  readonly registry: ApiRegistry
  readonly clock: Clock
  readonly ownOrigins: ReadonlySet<string>
  readonly fetchExternal: OutboundFetch
  readonly hasWallet: boolean
}

/** The APIs on sale, and the parts that sell them. */
export async function composeImported(
  config: Config,
  needs: Omit<ApiNeeds, 'onOverruns'> &
    Pick<CatalogNeeds, 'ownOrigins'> & {
      readonly stores: { readonly apis: ApiStore; readonly copies: Pick<Copies, 'add'> }
      readonly journal: Journal
      /** Requests to addresses that strangers supply. */
      readonly strangers: OutboundFetch
    },
) {
  const { stores, apis, apiClosings: closings, clock, log, ownOrigins, paying } = needs
  const hasWallet = paying !== null
  const parts = {
    store: stores.apis,
    closings,
    registry: apis,
    clock,
    ownOrigins,
    // Documents are where the operator points, as upstreams are.
    fetchExternal: (request: OutboundRequest) => selling.apiDeps.fetch(request),
    hasWallet,
  }
  const apiCatalog = openCatalog(config, parts)
  const takeOffSale = takerOffSale(apiCatalog, log)
  const selling = composeApis(config, { ...needs, onOverruns: (operation) => void takeOffSale(closedToAll(operation)) })
  // The process may have ended after the last closing was stored and before the operation was disabled.
  const endClosed = () => {
    for (const { operation } of apis.routes.operations)
      if (closings.isClosedToAll(operation)) void takeOffSale(closedToAll(operation))
  }
  await stores.copies.add({ read: async () => endClosed })
  const { apiDeps, apiInputs } = selling
  const tryApi = (sold: SoldOperation, input: Json) =>
    tryOperation(apiDeps, apiInputs, sold, input, makeId('req', clock.now()))
  const upstreamPayments = followUpstreamPayments({ ...needs, catalog: apiCatalog, takeOffSale })
  return { ...selling, apiCatalog, tryApi, upstreamPayments, fetchDocument: apiDeps.fetch }
}

/** Imported documents are strangers': what they refer to is fetched by the guarded way out. */
function openCatalog(config: Config, parts: CatalogNeeds): ApiCatalog {
  return new ApiCatalog({
    ...parts,
    sealing: new KeyRing(config.sealingKeys),
    // Loaded when the first document is imported: most starts need no parser of YAML.
    importDocument: async (...document) =>
      (await import('../../adapters/openapi/import-openapi')).importOpenApi(...document),
    isSet: (variable) => config.apis.secrets.has(variable),
    isClosedHost: (host) => isClosedHost(config, host),
    reserved: new Set(Object.values(OPERATIONS).map(({ path }) => path.split('/')[3] ?? '')),
  })
}
