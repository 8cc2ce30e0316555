import { KeyRing } from '../../adapters/sealing/key-ring'
import type { Config } from '../../config'
import type { ApiOperation } from '../../core/apis/api'
import type { SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry, ApiStore } from '../../core/apis/api-store'
import { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import type { Closings } from '../../core/apis/closings'
import { OPERATIONS } from '../../core/catalog/operations'
import type { Clock } from '../../core/clock'
import { makeId } from '../../core/ids'
import type { Json } from '../../core/json'
import type { Journal } from '../../core/ledger/journal'
import type { OutboundFetch } from '../../core/outbound/outbound-fetch'
import type { Log } from '../../log'
import { tryOperation } from '../../pipeline/apis/try-operation'
import { type ApiNeeds, composeApis } from './apis'
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

/** What operators put on sale, and what sells it. */
export function composeImported(
  config: Config,
  needs: Omit<ApiNeeds, 'onOverruns'> &
    Pick<CatalogNeeds, 'ownOrigins' | 'fetchExternal'> & {
      readonly stores: { readonly apis: ApiStore }
      readonly journal: Journal
    },
) {
  const { stores, apis, apiClosings: closings, clock, log, ownOrigins, fetchExternal, paying, journal } = needs
  const hasWallet = paying !== null
  const parts = { store: stores.apis, closings, registry: apis, clock, ownOrigins, fetchExternal, hasWallet }
  const apiCatalog = openCatalog(config, parts)
  const takeOffSale = overrunsEnd(apiCatalog, log)
  const selling = composeApis(config, { ...needs, onOverruns: takeOffSale })
  // The process may have ended after the last closing was stored and before the operation was disabled.
  for (const { operation } of apis.routes.operations) if (closings.isClosedToAll(operation)) takeOffSale(operation)
  const { apiDeps, apiInputs } = selling
  const tryApi = (sold: SoldOperation, input: Json) =>
    tryOperation(apiDeps, apiInputs, sold, input, makeId('req', clock.now()))
  const upstreamPayments = followUpstreamPayments({ paying, journal, clock, log, catalog: apiCatalog })
  // Documents are where the operator points, as upstreams are.
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
    reserved: new Set(Object.values(OPERATIONS).map(({ path }) => path.split('/')[3] ?? '')),
  })
}

/** Takes an operation off sale that reported more than its maximum to several accounts. */
function overrunsEnd(catalog: ApiCatalog, log: Log): (operation: ApiOperation) => void {
  const actor = { kind: 'system', id: 'overruns', address: null } as const
  return ({ name, id }) => {
    const api = name.slice(0, name.length - id.length - 1)
    catalog.change(actor, api, { operations: [{ id, enabled: false }] }).then(
      (done) =>
        done.ok || log.error('an operation could not be disabled', { operation: name, reason: done.error.message }),
      (error: unknown) => log.error('an operation could not be disabled', { operation: name, reason: String(error) }),
    )
  }
}
