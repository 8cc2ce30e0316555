import { KeyRing } from '../../adapters/sealing/key-ring'
import type { Config } from '../../config'
import type { ApiOperation } from '../../core/apis/api'
import type { SoldOperation } from '../../core/apis/api-routes'
import type { ApiRegistry, ApiStore } from '../../core/apis/api-store'
import { ApiCatalog } from '../../core/apis/catalog/api-catalog'
import type { Closings } from '../../core/apis/closings'
import type { UpstreamPayments } from '../../core/apis/payments/upstream-payment'
import { OPERATIONS } from '../../core/catalog/operations'
import type { Clock } from '../../core/clock'
import type { Copies } from '../../core/copies'
import { makeId } from '../../core/ids'
import type { Json } from '../../core/json'
import type { Journal } from '../../core/ledger/journal'
import type { OutboundFetch, OutboundRequest } from '../../core/outbound/outbound-fetch'
import { reasonOf } from '../../core/result'
import type { Job } from '../../jobs/job'
import { startUpstreamPaymentChecks } from '../../jobs/upstream-payments'
import type { Log } from '../../log'
import type { PaidUpstreams } from '../../pipeline/apis/ask-paid'
import { tryOperation } from '../../pipeline/apis/try-operation'
import { type ApiNeeds, composeApis, isClosedHost, openedSecrets } from './apis'

interface CatalogNeeds {
  readonly store: ApiStore
  readonly closings: Closings
  readonly registry: ApiRegistry
  readonly clock: Clock
  readonly ownOrigins: ReadonlySet<string>
  readonly fetchExternal: OutboundFetch
  readonly hasWallet: boolean
  readonly changed: () => Promise<unknown>
}

/** The APIs on sale, and the parts that sell them. */
export async function composeImported(
  config: Config,
  needs: Omit<ApiNeeds, 'secretsOf'> &
    Pick<CatalogNeeds, 'ownOrigins'> & {
      readonly apiClosings: Closings
      readonly stores: { readonly apis: ApiStore; readonly copies: Pick<Copies, 'add'> }
      readonly journal: Journal
      /** Resolves when each worker has a change of the APIs. */
      readonly changed: () => Promise<unknown>
      /** Requests to addresses that strangers supply. */
      readonly strangers: OutboundFetch
    },
) {
  const { stores, apis, apiClosings: closings, clock, log, ownOrigins, paying, changed } = needs
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
    changed,
  }
  const apiCatalog = openCatalog(config, parts)
  const takeOffSale = takerOffSale(apiCatalog, log)
  const selling = composeApis(config, { ...needs, secretsOf: openedSecrets(config) })
  closings.onClosedToAll = (operation) => {
    log.error('an operation cost more than its maximum for three accounts; it is disabled', {
      operation: operation.name,
    })
    void takeOffSale(closedToAll(operation))
  }
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

interface OffSale {
  readonly api: string
  /** Null: all operations of the API. */
  readonly operation: string | null
  readonly by: string
}

/** Takes an API, or one operation of it, off sale. Resolves to whether that was done. Never rejects. */
export type TakeOffSale = (what: OffSale) => Promise<boolean>

/** An operation that reported more than its maximum to several accounts. */
function closedToAll({ name, id }: ApiOperation): OffSale {
  return { api: name.slice(0, name.length - id.length - 1), operation: id, by: 'overruns' }
}

function takerOffSale(catalog: ApiCatalog, log: Log): TakeOffSale {
  return async ({ api, operation, by }) => {
    const failed = (reason: string) => {
      const name = operation === null ? api : `${api}.${operation}`
      log.error('an operation could not be disabled', { operation: name, reason })
      return false
    }
    const actor = { kind: 'system', id: by, address: null } as const
    const change = operation === null ? { enabled: false } : { operations: [{ id: operation, enabled: false }] }
    try {
      const done = await catalog.change(actor, api, change)
      return done.ok || failed(done.error.message)
    } catch (error) {
      return failed(reasonOf(error))
    }
  }
}

/** The wallet that pays upstreams per request; null without one. */
export async function openUpstreamWallet(
  { apis: { wallet } }: Config,
  payments: UpstreamPayments,
  clock: Clock,
): Promise<PaidUpstreams | null> {
  if (!wallet) return null
  await payments.abandon(clock.now())
  // Loaded only here: signing needs libraries of 70 MB.
  const { openWallet } = await import('../../adapters/upstream-wallet/open-wallet')
  return { wallet: openWallet(wallet), payments, clock }
}

interface CheckParts {
  readonly paying: PaidUpstreams | null
  readonly journal: Journal
  readonly clock: Clock
  readonly log: Log
  readonly catalog: Pick<ApiCatalog, 'byName'>
  readonly takeOffSale: TakeOffSale
}

/** Follows the payments that brought no answer. Null without a wallet. */
function followUpstreamPayments(parts: CheckParts): Job | null {
  const { paying, journal, clock, log, catalog, takeOffSale } = parts
  if (!paying) return null
  return startUpstreamPaymentChecks({
    ...paying,
    journal,
    clock,
    changedAt: (api) => catalog.byName(api)?.updatedAt ?? null,
    async disable(api) {
      const isDone = await takeOffSale({ api, operation: null, by: 'upstream payments' })
      log.error('an API cashed payments without answers; it is disabled', { api, ...(!isDone && { left: 'enabled' }) })
    },
    onTrouble: (what, reason) => log.error(what, { reason }),
  })
}
